// softmax(q·kᵀ·scale)·v with an online softmax over blocks of WG keys. One workgroup per query: each lane scores one key of
// a block, then each lane owns some columns of the values. at0 … at2 read q, k, v; `masked(b, h, t, s)` is what is added.

const ATTENTION_DEPTH = 256u;
const ATTENTION_COLUMNS = 4u;
var<workgroup> attention_query: array<f32, 256>;
var<workgroup> attention_weights: array<f32, WG>;

fn attention_score(b: u32, h: u32, g: u32, t: u32, s: u32) -> f32 {
    let depth = arg_depth();
    var dot = 0.0;
    let kept = min(depth, ATTENTION_DEPTH);
    for (var d = 0u; d < kept; d++) {
        dot += attention_query[d] * at1(b, g, s, d);
    }
    for (var d = kept; d < depth; d++) {
        dot += at0(b, h, t, d) * at1(b, g, s, d);
    }
    return capped(dot * arg_scale()) + masked(b, h, t, s);
}

@compute @workgroup_size(WG)
fn attention_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let t = index % arg_queries();
    let h = index / arg_queries() % arg_heads();
    let b = index / arg_queries() / arg_heads();
    let g = h / arg_sharing();
    let width = arg_columns();
    let keys = visible(t);
    for (var d = lane; d < min(arg_depth(), ATTENTION_DEPTH); d += WG) {
        attention_query[d] = at0(b, h, t, d);
    }
    workgroupBarrier();
    // Columns beyond what the lanes hold at once take another pass over the keys.
    for (var e0 = 0u; e0 < width; e0 += WG * ATTENTION_COLUMNS) {
        var top = -inf_f32();
        var total = 0.0;
        var sums: array<f32, ATTENTION_COLUMNS>;
        for (var s0 = keys.x; s0 < keys.y; s0 += WG) {
            let count = min(WG, keys.y - s0);
            var score = -inf_f32();
            if lane < count {
                score = attention_score(b, h, g, t, s0 + lane);
            }
            attention_weights[lane] = score;
            workgroupBarrier();
            var highest = top;
            for (var j = 0u; j < count; j++) {
                highest = max(highest, attention_weights[j]);
            }
            workgroupBarrier();
            let hidden = bitcast<u32>(highest) == 0xff800000u;
            let weight = select(exp_f32(score - highest), 0.0, hidden && !is_nan(score));
            attention_weights[lane] = select(0.0, weight, lane < count);
            let fade = select(exp_f32(top - highest), 0.0, hidden);
            workgroupBarrier();
            total *= fade;
            for (var c = 0u; c < ATTENTION_COLUMNS; c++) {
                sums[c] *= fade;
            }
            for (var j = 0u; j < count; j++) {
                let w = attention_weights[j];
                total += w;
                if w != 0.0 {
                    for (var c = 0u; c < ATTENTION_COLUMNS; c++) {
                        let e = e0 + c * WG + lane;
                        if e < width {
                            sums[c] += w * at2(b, g, s0 + j, e);
                        }
                    }
                }
            }
            top = highest;
            workgroupBarrier();
        }
        for (var c = 0u; c < ATTENTION_COLUMNS; c++) {
            let e = e0 + c * WG + lane;
            if e < width {
                // A query that sees nothing gives zeros.
                finish(index * width + e, select(sums[c] / total, 0.0, total == 0.0));
            }
        }
    }
}
