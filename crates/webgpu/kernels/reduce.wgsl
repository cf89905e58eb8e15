// Each of `outer` points combines `inner` ones, which follow one another in the linear order of the input.

var<workgroup> reduce_shared: array<T, WG>;

fn reduce_group(own: T, lane: u32) -> T {
    reduce_shared[lane] = own;
    workgroupBarrier();
    for (var s = WG / 2u; s > 0u; s = s >> 1u) {
        if lane < s {
            reduce_shared[lane] = combine(reduce_shared[lane], reduce_shared[lane + s]);
        }
        workgroupBarrier();
    }
    return reduce_shared[0];
}

// The same where there are subgroups, of whatever size.
fn reduce_subgroups(own: T) -> T {
    var part = own;
    for (var s = group_place.y / 2u; s > 0u; s = s >> 1u) {
        part = combine(part, subgroupShuffleXor(part, s));
    }
    if group_place.z == 0u {
        reduce_shared[group_place.x] = part;
    }
    workgroupBarrier();
    var all = reduce_shared[0];
    for (var s = 1u; s < WG / group_place.y; s++) {
        all = combine(all, reduce_shared[s]);
    }
    return all;
}

fn reduce_quad(v: vec4<T>) -> T {
    return combine(combine(v.x, v.y), combine(v.z, v.w));
}

// One workgroup per outer point: for long rows.
@compute @workgroup_size(WG)
fn reduce_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let outer = group_index(group);
    if outer >= p[0].y {
        return;
    }
    let inner = arg_inner();
    var own = identity();
    for (var k = lane; k < inner; k += WG) {
        own = combine(own, in0(outer * inner + k));
    }
    let all = reduce_group(own, lane);
    if lane == 0u {
        finish(outer, all);
    }
}

// The same by quads.
@compute @workgroup_size(WG)
fn reduce_rows_quads(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let outer = group_index(group);
    if outer >= p[0].y {
        return;
    }
    let inner = arg_inner();
    let base = outer * inner;
    var own = identity();
    for (var k = 4u * lane; k < inner; k += 4u * WG) {
        own = combine(own, reduce_quad(in0_4(base + k)));
    }
    let all = reduce_group(own, lane);
    if lane == 0u {
        finish(outer, all);
    }
}

// One invocation per outer point: for short rows, and for columns, where neighbours read neighbours.
@compute @workgroup_size(WG)
fn reduce_columns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let outer = group_index(group) * WG + lane;
    if outer >= arg_outer() {
        return;
    }
    let inner = arg_inner();
    var own = identity();
    for (var k = 0u; k < inner; k++) {
        own = combine(own, in0(outer * inner + k));
    }
    finish(outer, own);
}

// Four columns per invocation, or KEEP times as many, so that a CPU reads longer runs of a row; `across_4(i)` reads points
// in the order of columns. SPLIT invocations share the rows of their columns where columns alone do not keep a device busy.
var<workgroup> reduce_split: array<vec4<T>, WG>;

fn reduce_quads(a: vec4<T>, b: vec4<T>) -> vec4<T> {
    return vec4<T>(combine(a.x, b.x), combine(a.y, b.y), combine(a.z, b.z), combine(a.w, b.w));
}

@compute @workgroup_size(WG)
fn reduce_columns_quads(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let across = WG / SPLIT;
    let outer = arg_outer();
    let inner = arg_inner();
    let first = 4u * (group_index(group) * across * KEEP + lane % across);
    var own: array<vec4<T>, KEEP>;
    for (var j = 0u; j < KEEP; j++) {
        own[j] = vec4<T>(identity(), identity(), identity(), identity());
    }
    for (var k = lane / across; k < inner; k += SPLIT) {
        for (var j = 0u; j < KEEP; j++) {
            let column = first + 4u * across * j;
            if column < outer {
                own[j] = reduce_quads(own[j], across_4(k * outer + column));
            }
        }
    }
    if SPLIT > 1u {
        reduce_split[lane] = own[0];
        workgroupBarrier();
        for (var s = 1u; s < SPLIT; s++) {
            if lane < across {
                own[0] = reduce_quads(own[0], reduce_split[s * across + lane]);
            }
        }
    }
    for (var j = 0u; j < KEEP; j++) {
        let column = first + 4u * across * j;
        if column < outer && lane < across {
            finish_4(column, own[j]);
        }
    }
}

// Few outer points with much to combine: workgroups take parts of a row, and a second launch combines the parts.
@compute @workgroup_size(WG)
fn reduce_parts(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let inner = arg_inner();
    let parts = arg_parts();
    let outer = index / parts;
    let begin = (index % parts) * arg_part();
    let end = min(begin + arg_part(), inner);
    var own = identity();
    for (var k = begin + lane; k < end; k += WG) {
        own = combine(own, in0(outer * inner + k));
    }
    let all = reduce_group(own, lane);
    if lane == 0u {
        put_part(index, all);
    }
}

@compute @workgroup_size(WG)
fn reduce_parts_quads(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let inner = arg_inner();
    let parts = arg_parts();
    let base = index / parts * inner;
    let begin = (index % parts) * arg_part();
    let end = min(begin + arg_part(), inner);
    var own = identity();
    for (var k = begin + 4u * lane; k < end; k += 4u * WG) {
        own = combine(own, reduce_quad(in0_4(base + k)));
    }
    let all = reduce_group(own, lane);
    if lane == 0u {
        put_part(index, all);
    }
}

@compute @workgroup_size(WG)
fn reduce_joined(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let outer = group_index(group);
    if outer >= p[0].y {
        return;
    }
    let parts = arg_parts();
    var own = identity();
    for (var k = lane; k < parts; k += WG) {
        own = combine(own, get_part(outer * parts + k));
    }
    let all = reduce_group(own, lane);
    if lane == 0u {
        finish(outer, all);
    }
}
