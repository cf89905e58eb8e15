//! Searches for scales that minimise the weighted squared error of a group.
//!
//! Rounding with the obvious scale (range / codes) is not optimal: a slightly different scale clips or shifts an
//! outlier and fits the rest better. Each search tries a range of scales around the obvious one, computes the best
//! scale (and offset) for the resulting codes in closed form, and keeps the one with the smallest error.

use half::f16;

/// Rounds to nearest, ties to even, for |x| < 2²²; vectorises on every target, unlike `f32::round`.
#[inline(always)]
pub(crate) fn round(x: f32) -> f32 {
    const MAGIC: f32 = 12_582_912.0;
    (x + MAGIC) - MAGIC
}

/// Round and clamp to a code range.
#[inline(always)]
pub(crate) fn code(x: f32, lo: f32, hi: f32) -> f32 {
    round(x.clamp(lo, hi))
}

/// Nearest half, saturating instead of becoming infinite.
pub(crate) fn to_f16(x: f32) -> f16 {
    f16::from_f32(x.clamp(-65504.0, 65504.0))
}

/// `1 / x`, or 0 for 0 and for numbers so small that the reciprocal is infinite.
pub(crate) fn reciprocal(x: f32) -> f32 {
    let r = 1.0 / x;
    if r.is_finite() { r } else { 0.0 }
}

/// The value of largest magnitude, with its sign.
pub(crate) fn extreme(x: &[f32]) -> f32 {
    x.iter().fold(0.0, |m: f32, &v| if v.abs() > m.abs() { v } else { m })
}

/// Error weights of a group when the caller gave none, or the caller's sharpened by the values:
/// larger values matter more, because they also meet larger activations' products.
pub(crate) fn weights<const N: usize>(x: &[f32], importance: Option<&[f32]>, sigma2: f32) -> [f32; N] {
    let sigma = sigma2.sqrt();
    std::array::from_fn(|i| match importance {
        Some(w) => w[i] * (sigma2 + x[i] * x[i]).sqrt(),
        None => sigma + x[i].abs(),
    })
}

/// Mean square.
pub(crate) fn mean_square(x: &[f32]) -> f32 {
    x.iter().map(|v| v * v).sum::<f32>() / x.len() as f32
}

/// The scale for `x ≈ scale * code` with codes `-n..n`. The extra negative code goes to the extreme value,
/// so the scale may be negative.
pub(crate) fn symmetric<const N: usize>(x: &[f32; N], w: &[f32; N], n: i32) -> f32 {
    let max = extreme(x);
    let (lo, hi) = (-n as f32, (n - 1) as f32);
    let fit = |inverse: f32| {
        let (mut xl, mut ll) = (0f32, 0f32);
        for i in 0..N {
            let l = code(x[i] * inverse, lo, hi);
            xl += w[i] * x[i] * l;
            ll += w[i] * l * l;
        }
        (xl, ll)
    };
    best_scale(reciprocal(max), (n as f32, 0.1), fit)
}

/// Tries inverse scales `-(n + k step) / max` and returns the fitted scale of the best. With `xl = Σ w x l`
/// and `ll = Σ w l²` the best scale for fixed codes is `xl / ll`, and it removes `xl² / ll` of the error.
pub(crate) fn best_scale(inverse_max: f32, (n, step): (f32, f32), fit: impl Fn(f32) -> (f32, f32)) -> f32 {
    if inverse_max == 0.0 {
        return 0.0;
    }
    let consider = |best: (f32, f32), inverse: f32| {
        let (xl, ll) = fit(inverse);
        let gain = xl * xl / ll;
        if ll > 0.0 && gain > best.0 { (gain, xl / ll) } else { best }
    };
    let fan = (-9..=9).map(|k| -(n + step * k as f32) * inverse_max);
    let best = fan.fold((0.0, 0.0), consider);
    consider(best, reciprocal(best.1)).1
}

/// Scale and offset for `x ≈ scale * code + offset` with codes `0..=n`. With `negative_offset` the offset
/// is at most zero, as formats that store it unsigned need.
pub(crate) fn affine<const N: usize>(
    x: &[f32; N],
    w: &[f32; N],
    n: i32,
    negative_offset: bool,
) -> (f32, f32) {
    let mut lo = x.iter().copied().fold(f32::INFINITY, f32::min);
    let hi = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if negative_offset {
        lo = lo.min(0.0);
    }
    let inverse_range = reciprocal(hi - lo);
    if inverse_range == 0.0 {
        return (0.0, lo);
    }
    let n = n as f32;
    let (sw, sx) = (w.iter().sum::<f32>(), x.iter().zip(w).map(|(x, w)| x * w).sum::<f32>());
    // Should no candidate have a solution (all weights zero, or sums that overflow), plain rounding stands.
    let mut best = (f32::INFINITY, reciprocal(n * inverse_range), lo);
    for k in -1..=20 {
        let inverse = if k < 0 { n } else { n - 1.0 + 0.1 * k as f32 } * inverse_range;
        let (mut sl, mut sll, mut sxl) = (0f32, 0f32, 0f32);
        for i in 0..N {
            let l = code(inverse * (x[i] - lo), 0.0, n);
            sl += w[i] * l;
            sll += w[i] * l * l;
            sxl += w[i] * x[i] * l;
        }
        let det = sw * sll - sl * sl;
        if det <= 0.0 {
            continue;
        }
        let (mut scale, mut offset) = ((sw * sxl - sx * sl) / det, (sll * sx - sl * sxl) / det);
        if negative_offset && offset > 0.0 {
            (scale, offset) = (sxl / sll, 0.0);
        }
        let error = affine_error(x, w, (scale, offset), n);
        if error < best.0 && scale > 0.0 {
            best = (error, scale, offset);
        }
    }
    (best.1, best.2)
}

/// Weighted squared error of the best codes `0..=n` for a given scale and offset.
pub(crate) fn affine_error<const N: usize>(
    x: &[f32; N],
    w: &[f32; N],
    (scale, offset): (f32, f32),
    n: f32,
) -> f32 {
    let inverse = reciprocal(scale);
    let mut error = 0f32;
    for i in 0..N {
        let d = scale * code((x[i] - offset) * inverse, 0.0, n) + offset - x[i];
        error += w[i] * d * d;
    }
    error
}

/// Weighted squared error of the best codes `-n..n` for a given scale.
pub(crate) fn symmetric_error<const N: usize>(x: &[f32; N], w: &[f32; N], scale: f32, n: f32) -> f32 {
    let inverse = reciprocal(scale);
    let mut error = 0f32;
    for i in 0..N {
        let d = scale * code(x[i] * inverse, -n, n - 1.0) - x[i];
        error += w[i] * d * d;
    }
    error
}

/// Of the stored scale and its neighbours within `range`, the one of least error: what rounding a group's scale to
/// a few bits lost, the next step up or down often wins back.
pub(crate) fn neighbour(start: i32, range: (i32, i32), error: impl Fn(i32) -> f32) -> i32 {
    let start = start.clamp(range.0, range.1);
    let mut best = (error(start), start);
    for candidate in [start - 1, start + 1] {
        if (range.0..=range.1).contains(&candidate) {
            let e = error(candidate);
            if e < best.0 {
                best = (e, candidate);
            }
        }
    }
    best.1
}

/// The group `i` of `N` values as an array.
pub(crate) fn group<const N: usize>(x: &[f32], i: usize) -> [f32; N] {
    std::array::from_fn(|j| x[i * N + j])
}
