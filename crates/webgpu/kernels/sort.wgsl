// Stable orders of rows. Kernels move positions, not values: a position's key is looked up again where it is needed, and
// equal keys are told apart by their positions, which is what makes the order stable.

var<workgroup> sort_keys: array<K, BLOCK>;
var<workgroup> sort_places: array<u32, BLOCK>;

fn sort_before(a: K, i: u32, b: K, j: u32) -> bool {
    return key_lt(a, b) || (!key_lt(b, a) && i < j);
}

// Sorts one block of a row in workgroup memory (bitonic); places beyond the row come last.
fn sort_block_of(row: u32, first: u32, lane: u32) {
    let n = arg_width();
    for (var j = lane; j < BLOCK; j += WG) {
        let place = first + j;
        sort_places[j] = select(0xffffffffu, place, place < n);
        if place < n {
            sort_keys[j] = key_of(in0(row * n + place));
        } else {
            sort_keys[j] = last_key();
        }
    }
    workgroupBarrier();
    for (var size = 2u; size <= BLOCK; size = size << 1u) {
        for (var step = size >> 1u; step > 0u; step = step >> 1u) {
            for (var t = lane; t < BLOCK / 2u; t += WG) {
                let i = 2u * t - (t & (step - 1u));
                let j = i + step;
                let rising = (i & size) == 0u;
                let ordered = sort_before(sort_keys[i], sort_places[i], sort_keys[j], sort_places[j]);
                if ordered != rising {
                    let key = sort_keys[i];
                    let place = sort_places[i];
                    sort_keys[i] = sort_keys[j];
                    sort_places[i] = sort_places[j];
                    sort_keys[j] = key;
                    sort_places[j] = place;
                }
            }
            workgroupBarrier();
        }
    }
}

// Rows of one block.
@compute @workgroup_size(WG)
fn sort_short(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group_index(group);
    if row >= p[0].y {
        return;
    }
    sort_block_of(row, 0u, lane);
    let limit = arg_limit();
    for (var j = lane; j < limit; j += WG) {
        finish(row * limit + j, sorted(row, sort_places[j]));
    }
}

// Longer rows: blocks first,
@compute @workgroup_size(WG)
fn sort_blocks(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group);
    if index >= p[0].y {
        return;
    }
    let n = arg_width();
    let blocks = (n + BLOCK - 1u) / BLOCK;
    let row = index / blocks;
    let first = (index % blocks) * BLOCK;
    sort_block_of(row, first, lane);
    for (var j = lane; j < BLOCK && first + j < n; j += WG) {
        put_place(row * n + first + j, sort_places[j]);
    }
}

// then neighbouring runs are merged, run by run twice as long: an element's place is its own place in its run and the
// number of elements of the other run that come before it.
@compute @workgroup_size(WG)
fn sort_merge(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group) * WG + lane;
    if index >= arg_points() {
        return;
    }
    let n = arg_width();
    let run = arg_run();
    let row = index / n;
    let i = index % n;
    let pair = i / (2u * run) * (2u * run);
    let middle = min(pair + run, n);
    let place = get_place(row * n + i);
    let key = key_of(in0(row * n + place));
    let is_left = i < middle;
    var low = select(pair, middle, is_left);
    var high = select(middle, min(pair + 2u * run, n), is_left);
    let start = low;
    while low < high {
        let probe = (low + high) / 2u;
        let other = get_place(row * n + probe);
        if sort_before(key_of(in0(row * n + other)), other, key, place) {
            low = probe + 1u;
        } else {
            high = probe;
        }
    }
    let own = select(i - middle, i - pair, is_left);
    put_place(row * n + pair + own + (low - start), place);
}

@compute @workgroup_size(WG)
fn sort_emit(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let index = group_index(group) * WG + lane;
    if index >= arg_points() {
        return;
    }
    let limit = arg_limit();
    let row = index / limit;
    finish(index, sorted(row, get_place(row * arg_width() + index % limit)));
}
