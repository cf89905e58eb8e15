// Products with chosen matrices of a stack: y[p] = W[experts[p]]·x[p / slots], where a pair p is a row of x and one of its slots. The
// stack is read as one tall matrix: row r of matrix e is row e·n + r.
//
// Few pairs are taken one by one (expert_dot), LANES lanes to a row of W. Many are sorted first (expert_order) into tiles of 32 pairs
// that chose the same matrix; expert_tiles then decodes a chunk of W once for a tile. `tile_word(i)` and `set_tile_word(i, v)` are three
// words per tile (matrix, first of the sorted pairs, how many; 0 past the last tile), and then the sorted pairs.

fn chosen(pair: u32) -> u32 {
    let expert = resolve_index(choice(pair), arg_experts());
    return select(expert, 0u, expert == NOWHERE);
}

@compute @workgroup_size(WG)
fn expert_dot(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let columns = WG / LANES;
    let n = arg_n();
    let depth = arg_k();
    let across = (n + columns - 1u) / columns;
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let column = (index % across) * columns + lane / LANES;
    let pair = index / across;
    let x = pair / arg_slots() * depth;
    var sums: array<f32, ROWS>;
    if column < n {
        let start = row_start(chosen(pair) * n + column);
        for (var chunk = lane % LANES; chunk < depth / 32u; chunk += LANES) {
            let at = start + chunk / (BLOCK_LEN / 32u) * BLOCK_BYTES;
            let c = chunk % (BLOCK_LEN / 32u);
            let s = block_scales(at, c);
            for (var q = 0u; q < 8u; q++) {
                let half = select(s.xy, s.zw, q >= 4u);
                let w = half.x * block_codes(at, c, q) + half.y;
                let i = x + chunk * 32u + 4u * q;
                sums[0] += w.x * in0(i) + w.y * in0(i + 1u) + w.z * in0(i + 2u) + w.w * in0(i + 3u);
            }
        }
    }
    finish_columns(sums, pair, 1u, (index % across) * columns, lane);
}

var<workgroup> expert_places: array<atomic<u32>, MOST_EXPERTS>;

@compute @workgroup_size(WG)
fn expert_order(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    for (var e = lane; e < arg_experts(); e += WG) {
        atomicStore(&expert_places[e], 0u);
    }
    workgroupBarrier();
    for (var i = lane; i < arg_pairs(); i += WG) {
        atomicAdd(&expert_places[chosen(i)], 1u);
    }
    workgroupBarrier();
    if lane == 0u {
        var first = 0u;
        var tile = 0u;
        for (var e = 0u; e < arg_experts(); e++) {
            let count = atomicLoad(&expert_places[e]);
            atomicStore(&expert_places[e], first);
            for (var done = 0u; done < count; done += 32u) {
                set_tile_word(3u * tile, e);
                set_tile_word(3u * tile + 1u, first + done);
                set_tile_word(3u * tile + 2u, min(count - done, 32u));
                tile++;
            }
            first += count;
        }
        for (; tile < arg_tiles(); tile++) {
            set_tile_word(3u * tile + 2u, 0u);
        }
    }
    workgroupBarrier();
    for (var i = lane; i < arg_pairs(); i += WG) {
        let at = atomicAdd(&expert_places[chosen(i)], 1u);
        set_tile_word(3u * arg_tiles() + at, i);
    }
}

var<workgroup> expert_x: array<f32, 1024>;
var<workgroup> expert_pairs: array<u32, 32>;
var<workgroup> expert_tile: vec3<u32>;

// Tiles of 32 sorted pairs by 64 columns, one chunk deep.
@compute @workgroup_size(64)
fn expert_tiles(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let n = arg_n();
    let depth = arg_k();
    let across = (n + 63u) / 64u;
    let index = group_index(group);
    let tile = min(index / across, arg_tiles() - 1u);
    if lane == 0u {
        expert_tile = vec3<u32>(tile_word(3u * tile), tile_word(3u * tile + 1u), tile_word(3u * tile + 2u));
    }
    let found = workgroupUniformLoad(&expert_tile);
    let count = found.z;
    if count == 0u || index >= p[0].y {
        return;
    }
    if lane < 32u {
        expert_pairs[lane] = tile_word(3u * arg_tiles() + found.y + min(lane, count - 1u));
    }
    workgroupBarrier();
    let column = index % across * 64u + lane;
    let start = row_start(found.x * n + min(column, n - 1u));
    var sums: array<f32, 32>;
    for (var chunk = 0u; chunk < depth / 32u; chunk++) {
        for (var t = lane; t < 1024u; t += 64u) {
            let row = expert_pairs[t / 32u] / arg_slots();
            expert_x[t] = in0(row * depth + chunk * 32u + t % 32u);
        }
        workgroupBarrier();
        let at = start + chunk / (BLOCK_LEN / 32u) * BLOCK_BYTES;
        let c = chunk % (BLOCK_LEN / 32u);
        let s = block_scales(at, c);
        for (var q = 0u; q < 8u; q++) {
            let half = select(s.xy, s.zw, q >= 4u);
            let w = half.x * block_codes(at, c, q) + half.y;
            for (var r = 0u; r < 32u; r++) {
                let x = r * 32u + 4u * q;
                sums[r] += w.x * expert_x[x] + w.y * expert_x[x + 1u] + w.z * expert_x[x + 2u] + w.w * expert_x[x + 3u];
            }
        }
        workgroupBarrier();
    }
    if column < n {
        for (var r = 0u; r < count; r++) {
            finish(expert_pairs[r] * n + column, sums[r]);
        }
    }
}
