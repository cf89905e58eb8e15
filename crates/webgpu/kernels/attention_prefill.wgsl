// softmax(q·kᵀ·scale)·v for many queries (prefill): a workgroup has 32 queries of a head and walks over blocks of 32 keys
// with an online softmax. Keys and values pass through workgroup memory; a lane has 4 queries by 4 keys of the scores, and
// the same 4 queries by 8 columns of every 64 of the result, in registers. at0_4 … at2_4 read quads of q, k, v.

var<workgroup> attention_queries: array<vec4<f32>, 256>;
var<workgroup> attention_tile: array<vec4<f32>, 512>;
var<workgroup> attention_quads: array<vec4<f32>, 256>;

// What a query makes of its product with a key: nothing where it does not see the key.
fn attention_seen(dot: f32, at: vec4<u32>, s: u32, keys: vec2<u32>) -> f32 {
    if s < keys.x || s >= keys.y {
        return -inf_f32();
    }
    return capped(dot * arg_scale()) + masked(at.x, at.y, at.w, s);
}

fn attention_weight(score: f32, highest: f32) -> f32 {
    let hidden = bitcast<u32>(highest) == 0xff800000u;
    return select(exp_f32(score - highest), 0.0, hidden && !is_nan(score));
}

// What a key without weight has for a value does not count.
fn attention_add(sum: vec4<f32>, w: f32, v: vec4<f32>) -> vec4<f32> {
    return sum + select(w * v, vec4<f32>(), w == 0.0);
}

// Scores of 4 queries by 4 keys: products over the depth, in pieces of 32.
fn attention_products(at: vec4<u32>, last: u32, s0: u32, end: u32, lane: u32) -> array<vec4<f32>, 4> {
    let depth = arg_depth();
    let ty = lane / 8u;
    let tx = lane % 8u;
    var dots: array<vec4<f32>, 4>;
    for (var d0 = 0u; d0 < depth; d0 += 32u) {
        for (var i = lane; i < 256u; i += 64u) {
            let d = d0 + 4u * (i % 8u);
            var q = vec4<f32>();
            var k = vec4<f32>();
            if d < depth {
                q = at0_4(at.x, at.y, min(at.w + i / 8u, last), d);
                k = at1_4(at.x, at.z, min(s0 + i / 8u, end - 1u), d);
            }
            attention_queries[i] = q;
            attention_tile[i] = k;
        }
        workgroupBarrier();
        for (var c = 0u; c < 8u; c++) {
            let k0 = attention_tile[tx * 32u + c];
            let k1 = attention_tile[tx * 32u + 8u + c];
            let k2 = attention_tile[tx * 32u + 16u + c];
            let k3 = attention_tile[tx * 32u + 24u + c];
            for (var r = 0u; r < 4u; r++) {
                let q = attention_queries[(4u * ty + r) * 8u + c];
                dots[r] += vec4<f32>(dot(q, k0), dot(q, k1), dot(q, k2), dot(q, k3));
            }
        }
        workgroupBarrier();
    }
    return dots;
}

@compute @workgroup_size(64)
fn attention_tiles(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let blocks = (arg_queries() + 31u) / 32u;
    let h = index / blocks % arg_heads();
    let at = vec4<u32>(index / blocks / arg_heads(), h, h / arg_sharing(), index % blocks * 32u);
    let last = min(at.w + 31u, arg_queries() - 1u);
    let begin = visible(at.w).x;
    let end = visible(last).y;
    let width = arg_columns();
    let ty = lane / 8u;
    let tx = lane % 8u;
    var tops: array<f32, 4>;
    var totals: array<f32, 4>;
    var sums: array<array<array<vec4<f32>, 2>, CHUNKS>, 4>;
    for (var r = 0u; r < 4u; r++) {
        tops[r] = -inf_f32();
    }
    for (var s0 = begin; s0 < end; s0 += 32u) {
        var scores = attention_products(at, last, s0, end, lane);
        for (var r = 0u; r < 4u; r++) {
            let own = vec4<u32>(at.xyz, min(at.w + 4u * ty + r, last));
            let keys = visible(own.w);
            let dots = scores[r];
            let seen = vec4<f32>(
                attention_seen(dots.x, own, s0 + 4u * tx, keys),
                attention_seen(dots.y, own, s0 + 4u * tx + 1u, keys),
                attention_seen(dots.z, own, s0 + 4u * tx + 2u, keys),
                attention_seen(dots.w, own, s0 + 4u * tx + 3u, keys),
            );
            scores[r] = seen;
            attention_quads[(4u * ty + r) * 8u + tx] = seen;
        }
        workgroupBarrier();
        var faded: array<f32, 4>;
        for (var r = 0u; r < 4u; r++) {
            var highest = vec4<f32>(tops[r]);
            for (var x = 0u; x < 8u; x++) {
                highest = max(highest, attention_quads[(4u * ty + r) * 8u + x]);
            }
            let top = max(max(highest.x, highest.y), max(highest.z, highest.w));
            faded[r] = select(exp_f32(tops[r] - top), 0.0, bitcast<u32>(top) == 0xff800000u);
            tops[r] = top;
            totals[r] *= faded[r];
        }
        workgroupBarrier();
        for (var r = 0u; r < 4u; r++) {
            let s = scores[r];
            let w = vec4<f32>(
                attention_weight(s.x, tops[r]),
                attention_weight(s.y, tops[r]),
                attention_weight(s.z, tops[r]),
                attention_weight(s.w, tops[r]),
            );
            attention_quads[(4u * ty + r) * 8u + tx] = w;
        }
        for (var chunk = 0u; chunk < CHUNKS; chunk++) {
            for (var i = lane; i < 512u; i += 64u) {
                let e = chunk * 64u + 4u * (i % 16u);
                var v = vec4<f32>();
                if e < width {
                    v = at2_4(at.x, at.z, min(s0 + i / 16u, end - 1u), e);
                }
                attention_tile[i] = v;
            }
            workgroupBarrier();
            for (var r = 0u; r < 4u; r++) {
                sums[r][chunk][0] *= faded[r];
                sums[r][chunk][1] *= faded[r];
            }
            for (var j = 0u; j < 8u; j++) {
                for (var c = 0u; c < 2u; c++) {
                    let v0 = attention_tile[j * 64u + 2u * tx + c];
                    let v1 = attention_tile[j * 64u + 16u + 2u * tx + c];
                    let v2 = attention_tile[j * 64u + 32u + 2u * tx + c];
                    let v3 = attention_tile[j * 64u + 48u + 2u * tx + c];
                    for (var r = 0u; r < 4u; r++) {
                        let w = attention_quads[(4u * ty + r) * 8u + j];
                        if chunk == 0u && c == 0u {
                            totals[r] += (w.x + w.y) + (w.z + w.w);
                        }
                        var sum = attention_add(sums[r][chunk][c], w.x, v0);
                        sum = attention_add(sum, w.y, v1);
                        sum = attention_add(sum, w.z, v2);
                        sums[r][chunk][c] = attention_add(sum, w.w, v3);
                    }
                }
            }
            workgroupBarrier();
        }
    }
    for (var r = 0u; r < 4u; r++) {
        let t = at.w + 4u * ty + r;
        if t <= last {
            let row = ((at.x * arg_heads() + at.y) * arg_queries() + t) * width;
            let share = attention_share(tops[r], totals[r], at.y);
            for (var chunk = 0u; chunk < CHUNKS; chunk++) {
                for (var c = 0u; c < 2u; c++) {
                    let v = sums[r][chunk][c] * share;
                    put_columns(row, chunk * 64u + 8u * tx + 4u * c, v);
                }
            }
        }
    }
}
