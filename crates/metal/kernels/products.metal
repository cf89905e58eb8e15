// What the kernels of products share: offsets with a sign, four neighbours in one load, and where a batch starts.

// Positions are proven to fit `index_t`; strides may be negative, so offsets need its signed twin.
template <typename T>
struct Signed {
    typedef int Type;
};
template <>
struct Signed<ulong> {
    typedef long Type;
};
typedef Signed<index_t>::Type offset_t;

// Four neighbours as floats. Packed vectors ask for the alignment of one element only, so any offset will do.
inline float4 load4(device const float* p) { return float4(*(device const packed_float4*)p); }
inline float4 load4(device const half* p) { return float4(half4(*(device const packed_half4*)p)); }
inline float4 load4(device const bf16* p) {
    return as_type<float4>(uint4(ushort4(*(device const packed_ushort4*)p)) << 16);
}

// Four elements that lie `step` apart.
template <typename T>
inline float4 gather4(device const T* p, offset_t step) {
    return float4(widen(p[0]), widen(p[step]), widen(p[2 * step]), widen(p[3 * step]));
}

// The bytes of a matrix of weights: where they are, or packed into scratch because they were not aligned or not side by side.
#if defined(EXPERTS)
#define WEIGHT_PITCH(args) offset_t(args.in1_strides[1])
#elif defined(PACKED)
#define WEIGHT_BYTES(env) ((device const uchar*)scratch)
#define WEIGHT_PITCH(args) offset_t(args.dims[8])
#else
#define WEIGHT_BYTES(env) raw1(env)
#define WEIGHT_PITCH(args) offset_t(args.in1_strides[0])
#endif

// The matrix that a vector meets, and the row of x that the vector is; expert_matmul.metal has a matrix for each.
#ifdef EXPERTS
#define MATRIX_OF(vector) expert_bytes(env, args, chosen(env, args, vector))
#define X_ROW(vector) ((vector) / uint(args.dims[4]))
#else
#define MATRIX_OF(vector) WEIGHT_BYTES(env)
#define X_ROW(vector) (vector)
#endif

// Where product `batch` of an operand starts. The axes before the last two are batch axes; those that broadcast have stride 0.
template <typename D, typename S>
inline offset_t batch_start(constant D* extents, constant S* strides, uint axes, uint batch) {
    offset_t start = 0;
    for (uint axis = axes; axis > 0; axis--) {
        const uint extent = uint(extents[axis - 1]);
        start += offset_t(batch % extent) * offset_t(strides[axis - 1]);
        batch /= extent;
    }
    return start;
}
