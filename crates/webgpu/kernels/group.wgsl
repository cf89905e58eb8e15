// What the invocations of a workgroup come to together. These are the plain versions, by a tree in workgroup memory; where
// the adapter has subgroups, `group_sum` and its kin are made of the versions below.

var<workgroup> group_shared: array<f32, WG>;

fn group_sum(own: f32, lane: u32) -> f32 {
    group_shared[lane] = own;
    workgroupBarrier();
    for (var s = WG / 2u; s > 0u; s = s >> 1u) {
        if lane < s {
            group_shared[lane] += group_shared[lane + s];
        }
        workgroupBarrier();
    }
    let all = group_shared[0];
    workgroupBarrier();
    return all;
}

// A NaN may win or lose.
fn group_max(own: f32, lane: u32) -> f32 {
    group_shared[lane] = own;
    workgroupBarrier();
    for (var s = WG / 2u; s > 0u; s = s >> 1u) {
        if lane < s {
            group_shared[lane] = max(group_shared[lane], group_shared[lane + s]);
        }
        workgroupBarrier();
    }
    let all = group_shared[0];
    workgroupBarrier();
    return all;
}

// Where an invocation is: number of its subgroup, size of that, place in it.
var<private> group_place: vec3<u32>;

fn group_sum_subgroups(own: f32) -> f32 {
    let part = subgroupAdd(own);
    if group_place.z == 0u {
        group_shared[group_place.x] = part;
    }
    workgroupBarrier();
    var all = 0.0;
    for (var s = 0u; s < WG / group_place.y; s++) {
        all += group_shared[s];
    }
    workgroupBarrier();
    return all;
}

fn group_max_subgroups(own: f32) -> f32 {
    let part = subgroupMax(own);
    if group_place.z == 0u {
        group_shared[group_place.x] = part;
    }
    workgroupBarrier();
    var all = group_shared[0];
    for (var s = 1u; s < WG / group_place.y; s++) {
        all = max(all, group_shared[s]);
    }
    workgroupBarrier();
    return all;
}
