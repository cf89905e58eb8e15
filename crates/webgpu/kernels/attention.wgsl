// softmax(q·kᵀ·scale)·v with an online softmax over blocks of WG keys. A workgroup has one query: each lane scores one key
// of a block, then each lane owns some columns of the values. at0 … at2 read q, k, v; `masked(b, h, t, s)` is what is added.

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

// What weighted values are multiplied by in the end: one over the sum of weights, relative to the highest score, and of the
// sink's. A query that sees nothing gives zeros.
fn attention_share(top: f32, total: f32, h: u32) -> f32 {
    if total == 0.0 {
        return 0.0;
    }
    let sink = sink_of(h);
    let most = max(top, sink);
    let kept = exp_f32(top - most);
    return kept / (total * kept + exp_f32(sink - most));
}

// What some keys come to: the highest score, the sum of weights relative to it, and the weighted values.
struct Attended {
    top: f32,
    total: f32,
    sums: array<f32, ATTENTION_COLUMNS>,
}

// Where a query is: batch, head, head of the keys, row.
fn attention_place(index: u32) -> vec4<u32> {
    let h = index / arg_queries() % arg_heads();
    return vec4<u32>(index / arg_queries() / arg_heads(), h, h / arg_sharing(), index % arg_queries());
}

fn attention_load(at: vec4<u32>, lane: u32) {
    for (var d = lane; d < min(arg_depth(), ATTENTION_DEPTH); d += WG) {
        attention_query[d] = at0(at.x, at.y, at.w, d);
    }
    workgroupBarrier();
}

// Keys from keys.x to keys.y, columns from e0 on.
fn attention_over(at: vec4<u32>, keys: vec2<u32>, e0: u32, lane: u32) -> Attended {
    let width = arg_columns();
    var a: Attended;
    a.top = -inf_f32();
    for (var s0 = keys.x; s0 < keys.y; s0 += WG) {
        let count = min(WG, keys.y - s0);
        var score = -inf_f32();
        if lane < count {
            score = attention_score(at.x, at.y, at.z, at.w, s0 + lane);
        }
        attention_weights[lane] = score;
        workgroupBarrier();
        var highest = a.top;
        for (var j = 0u; j < count; j++) {
            highest = max(highest, attention_weights[j]);
        }
        workgroupBarrier();
        let hidden = bitcast<u32>(highest) == 0xff800000u;
        let weight = select(exp_f32(score - highest), 0.0, hidden && !is_nan(score));
        attention_weights[lane] = select(0.0, weight, lane < count);
        let fade = select(exp_f32(a.top - highest), 0.0, hidden);
        workgroupBarrier();
        a.total *= fade;
        for (var c = 0u; c < ATTENTION_COLUMNS; c++) {
            a.sums[c] *= fade;
        }
        for (var j = 0u; j < count; j++) {
            let w = attention_weights[j];
            a.total += w;
            if w != 0.0 {
                for (var c = 0u; c < ATTENTION_COLUMNS; c++) {
                    let e = e0 + c * WG + lane;
                    if e < width {
                        a.sums[c] += w * at2(at.x, at.z, s0 + j, e);
                    }
                }
            }
        }
        a.top = highest;
        workgroupBarrier();
    }
    return a;
}
