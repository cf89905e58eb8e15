//! Attention with heads of every usual width, in all three variants, and what hidden keys must not do.

use crate::rig::{Rig, close, noise};
use wootz_ir::build::{self, AttentionOptions};
use wootz_ir::{DType, Number};

#[derive(Clone, Copy)]
struct Problem {
    heads: usize,
    groups: usize,
    queries: usize,
    keys: usize,
    width: usize,
}

/// Causal attention in f64; query t is at position keys − queries + t.
fn reference(p: Problem, q: &[f32], k: &[f32], v: &[f32]) -> Vec<f64> {
    let Problem { heads, groups, queries, keys, width } = p;
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    let mut out = Vec::new();
    for row in 0..heads * queries {
        let (g, t) = (row / queries / (heads / groups), row % queries);
        let seen = keys - queries + t + 1;
        let scores: Vec<f64> = (0..seen)
            .map(|s| {
                let product = dot(&q[row * width..][..width], &k[(g * keys + s) * width..][..width]);
                product / (width as f64).sqrt()
            })
            .collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|s| (s - most).exp()).sum();
        out.extend((0..width).map(|c| {
            let part = |s: usize| (scores[s] - most).exp() / total * f64::from(v[(g * keys + s) * width + c]);
            (0..seen).map(part).sum::<f64>()
        }));
    }
    out
}

fn check(rig: &Rig, p: Problem, strange: bool) {
    let Problem { heads, groups, queries, keys, width } = p;
    let (q, k) = (noise(1, heads * queries * width), noise(2, groups * keys * width));
    let mut v = noise(3, groups * keys * width);
    let wanted = reference(p, &q, &k, &v);
    let mut behind = k.clone();
    // A cache longer than what is seen, with whatever was in it before.
    let (extra, room) = (5, keys + 5);
    let spread = |x: &[f32], filler: f32| -> Vec<f32> {
        x.chunks(keys * width).flat_map(|g| [g, &vec![filler; extra * width][..]].concat()).collect()
    };
    behind = spread(&behind, f32::NAN);
    v = spread(&v, if strange { f32::INFINITY } else { f32::NAN });
    let position = rig.place(
        &((keys - queries) as i32).to_ne_bytes(),
        wootz_ir::Layout::contiguous(&[1].into()),
        DType::I32,
    );
    let node = build::attention(
        &rig.floats(&q, [1, heads, queries, width], DType::F32),
        &rig.floats(&behind, [1, groups, room, width], DType::F32),
        &rig.floats(&v, [1, groups, room, width], DType::F32),
        AttentionOptions { position: Some(&position), ..AttentionOptions::default() },
    )
    .unwrap();
    let what = format!("{heads}/{groups} heads of {width}, {queries} queries, {keys} keys");
    close(&what, &rig.run(&node).unwrap(), &wanted, 2e-5);
}

#[test]
fn every_width_of_heads() {
    let rig = Rig::checked();
    for width in [64, 80, 96, 112, 128, 256] {
        check(&rig, Problem { heads: 4, groups: 2, queries: 1, keys: 70, width }, false);
        check(&rig, Problem { heads: 4, groups: 2, queries: 9, keys: 41, width }, true);
    }
}

#[test]
fn long_contexts_are_split() {
    check(&Rig::checked(), Problem { heads: 2, groups: 1, queries: 1, keys: 700, width: 64 }, false);
}

#[test]
fn other_gpus_have_it_too() {
    check(&Rig::mac(), Problem { heads: 4, groups: 2, queries: 3, keys: 90, width: 80 }, false);
}

/// A value that some queries see and others do not: infinite in the last key.
#[test]
fn a_hidden_infinity_stays_hidden() {
    let rig = Rig::checked();
    let (t, width) = (12, 16);
    let (q, k) = (noise(1, t * width), noise(2, t * width));
    let mut v = noise(3, t * width);
    v[(t - 1) * width] = f32::INFINITY;
    let of = |x: &[f32]| rig.floats(x, [1, 1, t, width], DType::F32);
    let zero = build::full(&[1].into(), Number::Int(0), DType::I32).unwrap();
    let options = AttentionOptions { position: Some(&zero), ..AttentionOptions::default() };
    let got = rig.run(&build::attention(&of(&q), &of(&k), &of(&v), options).unwrap()).unwrap().to_f64();
    for (i, value) in got.iter().enumerate() {
        assert_eq!(value.is_finite(), i != (t - 1) * width, "element {i} is {value}");
    }
}
