//! Quantising to grids: scales of groups, and points of their runs.

use half::f16;

use super::grid::Search;
use crate::search::{mean_square, neighbour, reciprocal, to_f16, weights};

/// A group of runs as a quantiser sees it.
pub(super) struct Runs<const R: usize, const W: usize> {
    pub x: [[f32; W]; R],
    pub w: [[f32; W]; R],
}

/// The runs of a block, weighed; values as they are.
pub(super) fn runs<const G: usize, const R: usize, const W: usize>(
    x: &[f32],
    importance: Option<&[f32]>,
) -> [Runs<R, W>; G] {
    let sigma2 = mean_square(x);
    std::array::from_fn(|g| {
        let at = |r: usize| (g * R + r) * W;
        let x: [[f32; W]; R] = std::array::from_fn(|r| std::array::from_fn(|i| x[at(r) + i]));
        let w = std::array::from_fn(|r| weights(&x[r], importance.map(|w| &w[at(r)..]), sigma2));
        Runs { x, w }
    })
}

/// The scale `xl / ll` of the inverse scale at which it takes away most of the error: a fan from `first` to `last` over the
/// largest magnitude, and then its own inverse.
pub(super) fn fit(max: f32, (first, last): (f32, f32), sums: impl Fn(f32) -> (f32, f32)) -> f32 {
    const STEPS: usize = 25;
    let inverse_max = reciprocal(max);
    if inverse_max == 0.0 {
        return 0.0;
    }
    let consider = |best: (f32, f32), inverse: f32| {
        let (xl, ll) = sums(inverse);
        let gain = xl * xl / ll;
        if xl > 0.0 && ll > 0.0 && gain > best.0 { (gain, xl / ll) } else { best }
    };
    let step = (last - first) / (STEPS - 1) as f32;
    let fan = (0..STEPS).map(|k| (first + step * k as f32) * inverse_max);
    let best = fan.fold((0.0, 0.0), consider);
    let best = consider(best, reciprocal(best.1));
    if best.1.is_finite() { best.1 } else { 0.0 }
}

/// Scales of groups as `d * unit * (2 s + 1)`, `s` up to `top`.
pub(super) struct OddScales<const G: usize> {
    pub d: f16,
    pub scales: [u8; G],
    unit: f32,
}

impl<const G: usize> OddScales<G> {
    /// Rounds the scales that fit best. `sums(g, inverse)` are those of group `g` at an inverse scale.
    pub fn new(fits: &[f32; G], unit: f32, top: i32, sums: impl Fn(usize, f32) -> (f32, f32)) -> Self {
        let largest = fits.iter().copied().fold(0f32, f32::max);
        let d = to_f16(largest / (unit * (2 * top + 1) as f32));
        let mut all = OddScales { d, scales: [0; G], unit };
        for (g, fit) in fits.iter().enumerate() {
            let start = ((fit * reciprocal(d.to_f32() * unit) - 1.0) * 0.5).round() as i32;
            let error = |s: i32| {
                let scale = all.scale(s as u8);
                let (xl, ll) = sums(g, reciprocal(scale));
                scale * (scale * ll - 2.0 * xl)
            };
            all.scales[g] = neighbour(start, (0, top), error) as u8;
        }
        // The scale of the scales that is best for the points they lead to.
        let (mut xl, mut ll) = (0f32, 0f32);
        for g in 0..G {
            let m = unit * f32::from(2 * all.scales[g] + 1);
            let s = sums(g, reciprocal(d.to_f32() * m));
            xl += m * s.0;
            ll += m * m * s.1;
        }
        let better = xl / ll;
        if better.is_finite() && better > 0.0 {
            all.d = to_f16(better);
        }
        all
    }

    fn scale(&self, s: u8) -> f32 {
        self.d.to_f32() * self.unit * f32::from(2 * s + 1)
    }

    /// One over the scale of a group.
    pub fn inverse(&self, g: usize) -> f32 {
        reciprocal(self.scale(self.scales[g]))
    }
}

/// A block of magnitudes on a grid, with signs apart.
pub(super) struct Signed<const G: usize, const R: usize> {
    pub scales: OddScales<G>,
    pub points: [[u16; R]; G],
    /// Of 8 values each.
    pub signs: [u8; 32],
}

/// Quantises 256 values in `G` groups of `R` runs. With `even`, of 8 signs an even number is negative.
pub(super) fn encode_signed<const G: usize, const R: usize, const W: usize>(
    search: &Search<W>,
    (x, importance): (&[f32], Option<&[f32]>),
    (unit, fan): (f32, (f32, f32)),
    even: bool,
) -> Signed<G, R> {
    let sigma2 = mean_square(x);
    let mut magnitudes = [0f32; 256];
    let mut signs = [0u8; 32];
    for (b, (signs, x)) in signs.iter_mut().zip(x.chunks_exact(8)).enumerate() {
        *signs = (0..8).fold(0, |s, i| s | u8::from(x[i].is_sign_negative() && x[i] != 0.0) << i);
        let to = &mut magnitudes[b * 8..][..8];
        to.iter_mut().zip(x).for_each(|(m, x)| *m = x.abs());
        if even && signs.count_ones() % 2 == 1 {
            let w: [f32; 8] = weights(x, importance.map(|w| &w[b * 8..]), sigma2);
            let cost = |i: &usize| w[*i] * x[*i] * x[*i];
            let i = (0..8).min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(0);
            *signs ^= 1 << i;
            to[i] = -to[i];
        }
    }
    let groups: [Runs<R, W>; G] = runs(&magnitudes, importance);
    let sums = |g: usize, inverse: f32| search.all(&groups[g].x, &groups[g].w, inverse, 0.0);
    let fits = std::array::from_fn(|g| {
        let max = groups[g].x.as_flattened().iter().copied().fold(0f32, f32::max);
        fit(max, fan, |inverse| sums(g, inverse))
    });
    let scales = OddScales::new(&fits, unit, 15, sums);
    let points = std::array::from_fn(|g| {
        let inverse = scales.inverse(g);
        std::array::from_fn(|r| search.nearest(&groups[g].x[r], &groups[g].w[r], inverse, 0.0).point)
    });
    Signed { scales, points, signs }
}
