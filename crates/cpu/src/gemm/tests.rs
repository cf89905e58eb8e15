//! Products against the three obvious loops.

use super::*;
use half::{bf16, f16};
use std::sync::Mutex;

/// Small integers: every product and sum is exact, so results must be equal to the bit.
fn fill<T: Real>(n: usize, seed: usize) -> Vec<T> {
    (0..n).map(|i| T::of(((i * 7 + seed * 13 + i * i / 3) % 17) as f64 - 8.0)).collect()
}

fn naive<T: Real>(
    Shape { m, n, k }: Shape,
    a: impl Fn(usize, usize) -> T,
    b: impl Fn(usize, usize) -> T,
) -> Vec<T> {
    let mut c = vec![T::ZERO; m * n];
    for i in 0..m {
        for j in 0..n {
            for p in 0..k {
                c[i * n + j] += a(i, p) * b(p, j);
            }
        }
    }
    c
}

const SIZES: &[(usize, usize, usize)] = &[
    (1, 1, 1),
    (1, 1, 20_000),
    (1, 5, 9000),
    (1, 77, 33),
    (1, 64, 101),
    (1, 150, 7),
    (77, 1, 33),
    (2, 3, 4),
    (5, 17, 9),
    (6, 16, 8),
    (7, 33, 100),
    (12, 40, 70),
    (13, 15, 300),
    (31, 200, 17),
    (64, 64, 64),
    (97, 101, 263),
    (210, 130, 520),
    (3, 0, 4),
    (0, 3, 4),
    (5, 4, 0),
];

/// All orders of strides for one operand of `rows × columns`: (memory length, offset, row stride, column stride).
fn layouts(rows: usize, columns: usize) -> Vec<(usize, usize, isize, isize)> {
    let (r, c) = (rows.max(1), columns.max(1));
    vec![
        (r * c, 0, c as isize, 1),
        (r * c, 0, 1, r as isize),
        (r * (c + 3), 0, (c + 3) as isize, 1),
        (r * c, r * c - 1, -(c as isize), -1),
        (2 * r * c, 0, (2 * c) as isize, 2),
    ]
}

fn every_layout<T: Real + LoadAs<T>>() {
    for &(m, n, k) in SIZES {
        let shape = Shape { m, n, k };
        for (i, (la, lb, lc)) in combinations(shape).into_iter().enumerate() {
            let (a, b): (Vec<T>, Vec<T>) = (fill(la.0, i), fill(lb.0, i + 1));
            let mut c = vec![T::of(99.0); lc.0];
            let at = |l: (usize, usize, isize, isize), i: usize, j: usize| {
                (l.1 as isize + i as isize * l.2 + j as isize * l.3) as usize
            };
            let want = naive(shape, |i, p| a[at(la, i, p)], |p, j| b[at(lb, p, j)]);
            // SAFETY: the layouts cover the vectors.
            unsafe {
                let a = Strided::new(a.as_ptr().add(la.1), la.2, la.3);
                let b = Strided::new(b.as_ptr().add(lb.1), lb.3, lb.2);
                let c = StridedSink::new(c.as_mut_ptr().add(lc.1), lc.2, lc.3);
                matmul(shape, &a, &b, &c);
            }
            for i in 0..m {
                for j in 0..n {
                    assert_eq!(c[at(lc, i, j)], want[i * n + j], "{shape:?} {la:?} {lb:?} {lc:?} at {i},{j}");
                }
            }
        }
    }
}

type Layout = (usize, usize, isize, isize);

fn combinations(Shape { m, n, k }: Shape) -> Vec<(Layout, Layout, Layout)> {
    let (a, b, c) = (layouts(m, k), layouts(k, n), layouts(m, n));
    let mut all: Vec<_> =
        a.iter().flat_map(|&a| b.iter().map(move |&b| (a, b))).map(|(a, b)| (a, b, c[0])).collect();
    all.extend(c.iter().map(|&c| (a[0], b[0], c)));
    all
}

#[test]
fn f32_products_of_any_layout() {
    every_layout::<f32>();
}

#[test]
fn f64_products_of_any_layout() {
    every_layout::<f64>();
}

#[test]
fn teams_of_any_size_agree() {
    for workers in [1, 2, 3, 5, 8] {
        let team = Team::new(workers);
        for &(m, n, k) in SIZES {
            let shape = Shape { m, n, k };
            let (a, b): (Vec<f32>, Vec<f32>) = (fill(m * k, 1), fill(k * n, 2));
            let want = naive(shape, |i, p| a[i * k + p], |p, j| b[p * n + j]);
            let mut c = vec![99.0; m * n];
            let gemm = Gemm::<f32>::new(shape);
            let mut scratch = Scratch::new();
            let memory = SyncPtr::new(scratch.reserve(gemm.scratch_bytes(workers)));
            let (a, b, c_view) =
                (Strided::left(&a, k), Strided::right(&b, n), StridedSink::row_major(&mut c, n));
            // SAFETY: all workers come with the same arguments.
            team.run(&|w| unsafe { gemm.run(w, &a, &b, &c_view, memory) });
            assert_eq!(c, want, "{shape:?} on {workers}");
            // The same through an epilogue, where partial sums live in the scratch.
            let got = Mutex::new(vec![0.0; m * n]);
            let sink = Epilogue(|row: usize, column: usize, values: &[f32]| {
                let mut got = got.lock().unwrap();
                for (j, v) in values.iter().enumerate() {
                    got[row * n + column + j] += v + 1.0;
                }
            });
            // SAFETY: all workers come with the same arguments; the memory has the size that the product asks for.
            team.run(&|w| unsafe { gemm.run(w, &a, &b, &sink, memory) });
            let want: Vec<f32> = want.iter().map(|v| v + 1.0).collect();
            assert_eq!(got.into_inner().unwrap(), want, "{shape:?} on {workers}, epilogue");
        }
    }
}

#[test]
fn computed_and_narrow_operands() {
    for &(m, n, k) in SIZES {
        let shape = Shape { m, n, k };
        let (a, b): (Vec<f32>, Vec<f32>) = (fill(m * k, 3), fill(k * n, 4));
        let want = naive(shape, |i, p| 2.0 * a[i * k + p], |p, j| b[p * n + j] - 1.0);
        let left = AlongDepth(|row: usize, depth: std::ops::Range<usize>, out: &mut [f32]| {
            for (o, d) in out.iter_mut().zip(depth) {
                *o = 2.0 * a[row * k + d];
            }
        });
        let right = AlongLanes(|d: usize, lanes: std::ops::Range<usize>, out: &mut [f32]| {
            for (o, l) in out.iter_mut().zip(lanes) {
                *o = b[d * n + l] - 1.0;
            }
        });
        let mut c = vec![0.0; m * n];
        matmul(shape, &left, &right, &StridedSink::row_major(&mut c, n));
        assert_eq!(c, want, "{shape:?}");

        let half: Vec<f16> = a.iter().map(|&v| f16::from_f32(v)).collect();
        let brain: Vec<bf16> = b.iter().map(|&v| bf16::from_f32(v)).collect();
        let want = naive(shape, |i, p| a[i * k + p], |p, j| b[p * n + j]);
        let mut c = vec![0.0; m * n];
        let (left, right) = (Widen(Strided::left(&half, k)), Widen(Strided::right(&brain, n)));
        matmul(shape, &left, &right, &StridedSink::row_major(&mut c, n));
        assert_eq!(c, want, "{shape:?} narrow");
    }
}

#[test]
fn matrices_times_computed_vectors() {
    for &(m, n, k) in SIZES.iter().filter(|&&(m, n, _)| m == 1 || n == 1) {
        let shape = Shape { m, n, k };
        let (a, b): (Vec<f32>, Vec<f32>) = (fill(m * k, 5), fill(k * n, 6));
        let (vector, matrix_left) = if n == 1 { (&b, true) } else { (&a, false) };
        let computed = AlongDepth(|_: usize, depth: std::ops::Range<usize>, out: &mut [f32]| {
            out.iter_mut().zip(depth).for_each(|(o, d)| *o = vector[d] + 1.0);
        });
        let want = match matrix_left {
            true => naive(shape, |i, p| a[i * k + p], |p, _| b[p] + 1.0),
            false => naive(shape, |_, p| a[p] + 1.0, |p, j| b[p * n + j]),
        };
        let (left, right) = (Strided::left(&a, k), Strided::right(&b, n));
        let (left, right): (&dyn PackSource<f32>, &dyn PackSource<f32>) =
            if matrix_left { (&left, &computed) } else { (&computed, &right) };
        for workers in [1, 3] {
            let mut c = vec![99.0; m * n];
            let gemm = Gemm::<f32>::new(shape);
            let mut scratch = Scratch::new();
            let memory = SyncPtr::new(scratch.reserve(gemm.scratch_bytes(workers)));
            let sink = StridedSink::row_major(&mut c, n);
            // SAFETY: all workers come with the same arguments; the memory has the size that the product asks for.
            Team::new(workers).run(&|w| unsafe { gemm.run(w, left, right, &sink, memory) });
            assert_eq!(c, want, "{shape:?} on {workers}");
        }
    }
}

#[test]
fn integers_wrap() {
    let (m, n, k) = (7, 70, 9);
    let a: Vec<i32> = (0..m * k).map(|i| (i as i32).wrapping_mul(0x3fff_ff21)).collect();
    let b: Vec<i32> = (0..k * n).map(|i| (i as i32).wrapping_mul(0x0fed_cba9)).collect();
    let mut c = vec![0i32; m * n];
    let (left, right, sink) =
        (Strided::left(&a, k), Strided::right(&b, n), StridedSink::row_major(&mut c, n));
    Team::new(3).run(&|w| gemm_integer(w, Shape { m, n, k }, left, right, sink));
    for i in 0..m {
        for j in 0..n {
            let want = (0..k).fold(0i32, |s, p| s.wrapping_add(a[i * k + p].wrapping_mul(b[p * n + j])));
            assert_eq!(c[i * n + j], want);
        }
    }
}

#[test]
fn infinities_and_nans_pass_through() {
    let a = [f32::INFINITY, 1.0, f32::NAN, 0.0];
    let b = [1.0f32, 0.0, 2.0, 1.0];
    let mut c = [0.0; 4];
    let shape = Shape { m: 2, n: 2, k: 2 };
    matmul(shape, &Strided::left(&a, 2), &Strided::right(&b, 2), &StridedSink::row_major(&mut c, 2));
    assert_eq!(c[0], f32::INFINITY);
    assert!(c[1].is_nan() && c[2].is_nan() && c[3].is_nan());
}

#[test]
fn working_memory_has_room_for_every_grid() {
    let extents = [1, 5, 31, 64, 300, 513, 2048, 5000];
    for (m, n, k) in
        extents.iter().flat_map(|&m| extents.iter().flat_map(move |&n| extents.map(|k| (m, n, k))))
    {
        let gemm = Gemm::<f32>::new(Shape { m, n, k });
        for most in [1, 2, 3, 8, 33] {
            let bytes = gemm.scratch_bytes(most);
            for workers in 1..=most {
                let bare = plan::Grid { rows: 1, columns: workers };
                for grid in [gemm.grid(m, n, workers, false), gemm.grid(m, n, workers, true), bare] {
                    let rooms = gemm.rooms(m, n, grid);
                    let own = rooms.a + rooms.segment + rooms.partial;
                    let all = gemm.blocks_of_b() * rooms.b * grid.columns + own * workers;
                    assert!(4 * all <= bytes, "{m}×{n}×{k}, {workers} of {most} workers as {grid:?}");
                }
            }
        }
    }
}

/// Packs lanes that are apart and along depth at every level, and compares number by number.
fn packs<S: LoadAs<T>, T: Real>(make: impl Fn(usize) -> S) {
    for level in crate::isa::available() {
        for (width, depth) in [4, 6, 8, 12, 16, 32].into_iter().flat_map(|w| [(w, 3), (w, 8), (w, 37)]) {
            let stride = depth + 5;
            let data: Vec<S> = (0..(width + 2) * stride).map(&make).collect();
            let source = Strided::left(&data, stride);
            // Behind the panel there is nothing to write to.
            let mut out = vec![T::of(-77.0); width * depth + 1];
            let (panel, lanes) = (&mut out[..width * depth], 2..2 + width);
            let pack = PackStrided { source, lanes, depth: 1..1 + depth, width, out: panel };
            // SAFETY: the level is one that is available.
            unsafe { crate::isa::dispatch_at(level, pack) };
            for (d, l) in (0..depth).flat_map(|d| (0..width).map(move |l| (d, l))) {
                let want: T = data[(2 + l) * stride + 1 + d].load_as();
                assert!(out[d * width + l] == want, "{level:?}: lane {l} of {width}, depth {d} of {depth}");
            }
            assert!(out[width * depth] == T::of(-77.0), "{level:?}: wrote past a panel of {width} × {depth}");
        }
    }
}

#[test]
fn panels_of_any_width_are_packed_at_every_level() {
    packs::<f32, f32>(|i| i as f32);
    packs::<f64, f64>(|i| i as f64);
    packs::<f16, f32>(|i| f16::from_f32(i as f32));
    packs::<bf16, f32>(|i| bf16::from_f32((i % 256) as f32));
}
