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
