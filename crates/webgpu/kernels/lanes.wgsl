// Sums that lanes share: LANES neighbours have parts of the same ROWS rows of a column, WG / LANES columns per workgroup.
var<workgroup> lane_sums: array<f32, LANE_SUMS>;

// Adds the parts up and finishes `rows` rows from row `top` of the result, of the columns from `left` on.
fn finish_columns(sums: array<f32, ROWS>, top: u32, rows: u32, left: u32, lane: u32) {
    let columns = WG / LANES;
    var own = sums;
    for (var r = 0u; r < ROWS; r++) {
        lane_sums[r * WG + lane] = own[r];
    }
    workgroupBarrier();
    for (var t = lane; t < rows * columns; t += WG) {
        let r = t / columns;
        let column = left + t % columns;
        if column < arg_n() {
            var sum = 0.0;
            for (var j = 0u; j < LANES; j++) {
                sum += lane_sums[r * WG + (t % columns) * LANES + j];
            }
            finish((top + r) * arg_n() + column, sum);
        }
    }
}
