//! Attention against the formula in f64.

use super::*;
use crate::scratch::Scratch;
use crate::team::Team;
use half::f16;
use std::sync::Mutex;

fn values(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729 + i * i % 31) % 1009) as f32 / 504.0 - 1.0).collect()
}

struct Case {
    shape: AttentionShape,
    rule: AttentionRule,
    mask: bool,
}

fn reference(
    case: &Case,
    q: &[f32],
    k: &[f32],
    v: &[f32],
    mask: &dyn Fn([usize; 3], usize) -> f32,
) -> Vec<f64> {
    let s = case.shape;
    let mut out = Vec::new();
    for (b, h, t) in
        (0..s.batch).flat_map(|b| (0..s.heads).flat_map(move |h| (0..s.queries).map(move |t| (b, h, t))))
    {
        let g = h / (s.heads / s.groups);
        let visible = case.rule.visible(t, s.keys);
        let score = |key: usize| {
            let q = &q[((b * s.heads + h) * s.queries + t) * s.depth..][..s.depth];
            let k = &k[((b * s.groups + g) * s.keys + key) * s.depth..][..s.depth];
            let dot: f64 = q.iter().zip(k).map(|(a, b)| *a as f64 * *b as f64).sum();
            let scaled = dot * case.rule.scale;
            let capped = case.rule.softcap.map_or(scaled, |c| c * (scaled / c).tanh());
            capped + if case.mask { mask([b, h, t], key) as f64 } else { 0.0 }
        };
        let scores: Vec<f64> = visible.clone().map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> =
            scores.iter().map(|s| if largest.is_finite() { (s - largest).exp() } else { 0.0 }).collect();
        let total: f64 = weights.iter().sum();
        for e in 0..s.width {
            let at = |key: usize| v[((b * s.groups + g) * s.keys + key) * s.width + e] as f64;
            let mixed: f64 =
                visible.clone().zip(&weights).filter(|(_, w)| **w != 0.0).map(|(key, w)| w * at(key)).sum();
            out.push(if total == 0.0 { 0.0 } else { mixed / total });
        }
    }
    out
}

fn heads<S>(data: &[S], heads: usize, rows: usize, width: usize) -> Heads<'_, S> {
    let strides = [heads * rows * width, rows * width, width, 1].map(|s| s as isize);
    // SAFETY: the strides are those of the whole slice.
    unsafe { Heads::new(data.as_ptr(), strides) }
}

fn run<S: LoadAs<f32>>(
    case: &Case,
    workers: usize,
    q: &[f32],
    k: &[S],
    v: &[S],
    mask: &(dyn Fn([usize; 3], usize) -> f32 + Sync),
) -> Vec<f32> {
    let s = case.shape;
    let out = Mutex::new(vec![f32::NAN; s.batch * s.heads * s.queries * s.width]);
    let fill = |place: [usize; 3], keys: Range<usize>, values: &mut [f32]| {
        values.iter_mut().zip(keys).for_each(|(v, key)| *v = mask(place, key));
    };
    let result = |[b, h, t]: [usize; 3], row: &[f32]| {
        let at = ((b * s.heads + h) * s.queries + t) * s.width;
        out.lock().unwrap()[at..at + s.width].copy_from_slice(row);
    };
    let problem = Attention {
        shape: s,
        rule: case.rule,
        q: heads(q, s.heads, s.queries, s.depth),
        k: heads(k, s.groups, s.keys, s.depth),
        v: heads(v, s.groups, s.keys, s.width),
        mask: if case.mask { Some(&fill) } else { None },
        sinks: None,
        batch_invariant: false,
        result: &result,
    };
    let mut scratch = Scratch::new();
    let memory = SyncPtr::new(scratch.reserve(problem.scratch_bytes(workers)));
    // SAFETY: all workers come with the same arguments.
    Team::new(workers).run(&|w| unsafe { problem.run(w, memory) });
    out.into_inner().unwrap()
}

fn cases() -> Vec<Case> {
    let shape = |heads, groups, queries, keys, depth, width| AttentionShape {
        batch: 2,
        heads,
        groups,
        queries,
        keys,
        depth,
        width,
    };
    let plain = AttentionRule { scale: 0.3, softcap: None, position: None, window: None };
    let at = |position| AttentionRule { position: Some(position), ..plain };
    vec![
        Case { shape: shape(4, 2, 1, 700, 32, 32), rule: at(650), mask: false },
        Case { shape: shape(1, 1, 1, 1500, 20, 7), rule: plain, mask: true },
        Case { shape: shape(4, 1, 70, 70, 16, 24), rule: at(0), mask: false },
        // Several tiles of keys, and values that are whole registers.
        Case { shape: shape(4, 1, 200, 300, 16, 64), rule: at(100), mask: false },
        // Stacks of several sizes, each in several parts.
        Case { shape: shape(2, 1, 130, 900, 16, 24), rule: at(770), mask: false },
        Case {
            shape: shape(2, 2, 100, 130, 8, 16),
            rule: AttentionRule { window: Some(20), ..at(30) },
            mask: true,
        },
        Case {
            shape: shape(6, 2, 5, 3, 9, 5),
            rule: AttentionRule { softcap: Some(2.0), ..plain },
            mask: false,
        },
        Case { shape: shape(2, 1, 3, 9, 4, 4), rule: at(-2), mask: false },
        Case { shape: shape(2, 1, 3, 0, 4, 4), rule: plain, mask: false },
    ]
}

#[test]
fn every_variant_on_any_team() {
    // Some keys hidden by the mask, and for one query all of them.
    let mask = |[_, h, t]: [usize; 3], key: usize| {
        if key % 5 == 1 || (h == 1 && t == 2) { f32::NEG_INFINITY } else { (key % 3) as f32 * 0.1 }
    };
    for case in cases() {
        let s = case.shape;
        let q = values(s.batch * s.heads * s.queries * s.depth, 1);
        // Rounded to f16, so that both storages have the same answer.
        let round = |v: Vec<f32>| v.into_iter().map(|v| f16::from_f32(v).to_f32()).collect::<Vec<_>>();
        let k = round(values(s.batch * s.groups * s.keys * s.depth, 2));
        let v = round(values(s.batch * s.groups * s.keys * s.width, 3));
        let want = reference(&case, &q, &k, &v, &mask);
        let narrow = |v: &[f32]| v.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>();
        let alone = run(&case, 1, &q, &k, &v, &mask).into_iter().map(f32::to_bits).collect::<Vec<_>>();
        for workers in [1, 2, 5] {
            let wide = run(&case, workers, &q, &k, &v, &mask);
            assert!(
                wide.iter().map(|v| v.to_bits()).eq(alone.iter().copied()),
                "{s:?} on {workers}: other bits"
            );
            for got in [wide, run(&case, workers, &q, &narrow(&k), &narrow(&v), &mask)] {
                for (i, (g, w)) in got.iter().zip(&want).enumerate() {
                    assert!((*g as f64 - w).abs() < 2e-5, "{s:?} on {workers} at {i}: {g} not {w}");
                }
            }
        }
    }
}

#[test]
fn hidden_values_do_not_leak() {
    // Values that are packed, and values that are read where they are.
    for width in [3, 64] {
        let shape = AttentionShape { batch: 1, heads: 1, groups: 1, queries: 2, keys: 4, depth: 2, width };
        let rule = AttentionRule { scale: 1.0, softcap: None, position: Some(1), window: None };
        let case = Case { shape, rule, mask: false };
        let (q, k) = (values(4, 1), values(8, 2));
        let mut v = vec![1.0; 4 * width];
        v[2 * width..].fill(f32::NAN); // keys 2 and 3; query 0 sees 0 and 1, query 1 sees 0 to 2
        let got = run(&case, 2, &q, &k, &v, &|_, _| 0.0);
        assert!(got[..width].iter().all(|v| (v - 1.0).abs() < 1e-6), "{got:?}");
        assert!(got[width..].iter().all(|v| v.is_nan()));
    }
}
