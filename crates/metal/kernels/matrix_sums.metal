// A threadgroup's tile of sums, TILE_M × TILE_N, spread over SIMDS_M × SIMDS_N simdgroups as 8×8 matrices in registers.
//
// Operands pass through threadgroup memory: A as rows of TILE_K with a pitch of A_PITCH, B as TILE_K rows with a pitch of B_PITCH; the
// four elements between rows keep columns out of one memory bank. Sums are float whatever the operands are.

#define THREADS (32 * SIMDS_M * SIMDS_N)
#define A_PITCH (TILE_K + 4)
#define B_PITCH (TILE_N + 4)
typedef TILE_TYPE Tile;

// Where a simdgroup's sums belong: its first row and column, the extents of the result, and the result's first point. With EXPERTS
// a tile's rows are any rows of the result.
struct Place {
    uint row, column, rows, columns;
    index_t start;
#ifdef EXPERTS
    device const uint* pairs;
#endif
};
#ifdef EXPERTS
#define RESULT_ROW(row) place.pairs[row]
#else
#define RESULT_ROW(row) row
#endif

struct Sums {
    enum : uint { ROWS = TILE_M / SIMDS_M / 8, COLUMNS = TILE_N / SIMDS_N / 8 };
    simdgroup_float8x8 at[ROWS][COLUMNS];

    void clear() {
        UNROLL for (uint i = 0; i < ROWS; i++) {
            UNROLL for (uint j = 0; j < COLUMNS; j++) {
                at[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
            }
        }
    }

    void add_products(threadgroup const Tile* a, threadgroup const Tile* b) {
        for (uint k = 0; k < TILE_K; k += 8) {
            simdgroup_matrix<Tile, 8, 8> left[ROWS], right[COLUMNS];
            UNROLL for (uint i = 0; i < ROWS; i++) {
                simdgroup_load(left[i], a + i * 8 * A_PITCH + k, A_PITCH);
            }
            UNROLL for (uint j = 0; j < COLUMNS; j++) {
                simdgroup_load(right[j], b + k * B_PITCH + j * 8, B_PITCH);
            }
            UNROLL for (uint i = 0; i < ROWS; i++) {
                UNROLL for (uint j = 0; j < COLUMNS; j++) {
                    simdgroup_multiply_accumulate(at[i][j], left[i], right[j], at[i][j]);
                }
            }
        }
    }

    // Calls `keep` for each sum of this lane: a lane holds two neighbours of every matrix.
#define EACH_SUM(keep)                                                                                       \
    const uint quad = lane / 4;                                                                              \
    const uint r = place.row + (quad & 4) + lane / 2 % 4, c = place.column + (quad & 2) * 2 + lane % 2 * 2;  \
    UNROLL for (uint i = 0; i < ROWS; i++) {                                                                 \
        UNROLL for (uint j = 0; j < COLUMNS; j++) {                                                          \
            const float2 pair = reinterpret_cast<thread float2&>(at[i][j].thread_elements());                \
            for (uint e = 0; e < 2; e++) {                                                                   \
                const uint row = r + i * 8, column = c + j * 8 + e;                                          \
                if (row < place.rows && column < place.columns) {                                            \
                    const index_t point = place.start + index_t(RESULT_ROW(row)) * place.columns + column;   \
                    keep;                                                                                    \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

#ifdef SPLIT
    void keep(device float* sums, Place place, uint lane) { EACH_SUM(sums[point] = pair[e]) }
#else
    void finish_all(thread const Env& env, Place place, uint lane) { EACH_SUM(finish(env, point, Out(pair[e]))) }
#endif
};
