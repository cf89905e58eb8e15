//! Grids: the I formats store runs of 4 or 8 values as the number of a point, so that few of all combinations of codes
//! need few bits.
//!
//! For reading, a point is its values as bytes of one word. For writing, `Search` knows the nearest points of every combination of
//! codes; which of them is best depends on how much each value matters.

use super::grid_points as points;

/// How the codes of a point become values: `base + step * code`, and the largest code a little more.
#[derive(Clone, Copy)]
pub struct Grid {
    /// The points, each the codes of its values side by side.
    pub points: &'static [u16],
    /// Values of a point.
    pub values: usize,
    /// Bits of a code.
    pub bits: u32,
    base: i8,
    step: i8,
    /// What the largest code's value has beyond `base + step * code`.
    extra: i8,
}

const fn of_eight(points: &'static [u16], base: i8, step: i8, extra: i8) -> Grid {
    Grid { points, values: 8, bits: 2, base, step, extra }
}

const fn of_four(points: &'static [u16], base: i8, step: i8, extra: i8) -> Grid {
    Grid { points, values: 4, bits: 3, base, step, extra }
}

/// IQ1_S and IQ1_M: −8, 0 and 8, to which 1 is added or from which it is taken.
pub const IQ1: Grid = of_eight(&points::IQ1, -8, 8, 0);
/// IQ2_XXS: 8, 25 and 43, as all of IQ2.
pub const IQ2_XXS: Grid = of_eight(&points::IQ2_XXS, 8, 17, 1);
/// IQ2_XS.
pub const IQ2_XS: Grid = of_eight(&points::IQ2_XS, 8, 17, 1);
/// IQ2_S.
pub const IQ2_S: Grid = of_eight(&points::IQ2_S, 8, 17, 1);
/// IQ3_XXS: 4, 12, … 52, and 62.
pub const IQ3_XXS: Grid = of_four(&points::IQ3_XXS, 4, 8, 2);
/// IQ3_S: odd numbers up to 15.
pub const IQ3_S: Grid = of_four(&points::IQ3_S, 1, 2, 0);

impl Grid {
    /// The largest code.
    const fn top(&self) -> i8 {
        if self.bits == 2 { 2 } else { 7 }
    }

    /// Code `i` of point `p`.
    const fn code(&self, p: usize, i: usize) -> i8 {
        (self.points[p] >> (self.bits as usize * i)) as i8 & ((1 << self.bits) - 1)
    }

    /// Value `i` of point `p`.
    const fn value(&self, p: usize, i: usize) -> i8 {
        let code = self.code(p, i);
        self.base + self.step * code + if code == self.top() { self.extra } else { 0 }
    }

    /// Point `p` as bytes, the first value lowest.
    const fn word(&self, p: usize) -> u64 {
        let (mut word, mut i) = (0, 0);
        while i < self.values {
            word |= (self.value(p, i) as u8 as u64) << (8 * i);
            i += 1;
        }
        word
    }

    /// All points as bytes.
    pub(super) const fn words<const N: usize>(&self) -> [u64; N] {
        let (mut words, mut p) = ([0; N], 0);
        while p < N {
            words[p] = self.word(p);
            p += 1;
        }
        words
    }
}

/// The sign bits of 8 values, of which 7 are stored: the eighth makes their number even.
pub(super) const fn even_signs(stored: u32) -> u8 {
    let stored = (stored & 127) as u8;
    stored | ((stored.count_ones() as u8 & 1) << 7)
}

/// For every 8 sign bits, bytes of ones where the value is negative.
const MASKS: [u64; 256] = {
    let (mut masks, mut bits) = ([0; 256], 0);
    while bits < 256 {
        let mut i = 0;
        while i < 8 {
            if bits >> i & 1 == 1 {
                masks[bits] |= 0xff << (8 * i);
            }
            i += 1;
        }
        bits += 1;
    }
    masks
};

static NEGATIVE: [u64; 256] = MASKS;

const ONES: u64 = 0x0101_0101_0101_0101;

/// Positive bytes below 128, negated where their sign bit is set.
#[inline(always)]
pub(super) fn with_signs(bytes: u64, signs: u8) -> u64 {
    let mask = NEGATIVE[usize::from(signs)];
    // The complement of a byte from 1 to 127 is below 255: adding 1 to it does not carry.
    (bytes ^ mask) + (mask & ONES)
}

/// Writes 8 bytes as codes.
#[inline(always)]
pub(super) fn put(codes: &mut [i8], at: usize, bytes: u64) {
    let bytes = bytes.to_le_bytes();
    codes[at..at + 8].iter_mut().zip(bytes).for_each(|(c, b)| *c = b as i8);
}

/// How many of the nearest points are looked at.
const NEAR: usize = 16;

/// The nearest points of every combination of `W` codes.
pub(super) struct Search<const W: usize> {
    grid: Grid,
    points: Vec<[f32; W]>,
    /// By combination, the first code counting least. Only the first is meant where it is the combination itself.
    near: Vec<([u16; NEAR], bool)>,
}

/// A run's point and the sums by which its scale is fitted: `Σ w x l` and `Σ w l²`.
#[derive(Clone, Copy, Default)]
pub(super) struct Choice {
    pub point: u16,
    pub xl: f32,
    pub ll: f32,
}

impl<const W: usize> Search<W> {
    pub fn new(grid: Grid) -> Search<W> {
        assert_eq!(grid.values, W, "values of a point");
        let codes = |p: usize| -> [i32; W] { std::array::from_fn(|i| i32::from(grid.code(p, i))) };
        let all: Vec<[i32; W]> = (0..grid.points.len()).map(codes).collect();
        let kinds = grid.top() as usize + 1;
        let near = (0..kinds.pow(W as u32)).map(|combination| {
            let own: [i32; W] = std::array::from_fn(|i| (combination / kinds.pow(i as u32) % kinds) as i32);
            let distance = |p: &[i32; W]| (0..W).map(|i| (p[i] - own[i]).pow(2)).sum::<i32>();
            let mut by_distance: Vec<(i32, u16)> =
                all.iter().enumerate().map(|(i, p)| (distance(p), i as u16)).collect();
            by_distance.select_nth_unstable(NEAR);
            by_distance.truncate(NEAR);
            by_distance.sort_unstable();
            (std::array::from_fn(|i| by_distance[i].1), by_distance[0].0 == 0)
        });
        let points = (0..grid.points.len()).map(|p| std::array::from_fn(|i| f32::from(grid.value(p, i))));
        Search { grid, near: near.collect(), points: points.collect() }
    }

    /// The point that is best for `x * inverse`, if `shift` is added to every value of a point.
    pub fn nearest(&self, x: &[f32; W], w: &[f32; W], inverse: f32, shift: f32) -> Choice {
        let top = self.grid.top();
        let (base, per_step) = (f32::from(self.grid.base) + shift, 1.0 / f32::from(self.grid.step));
        let (mut combination, mut place) = (0, 1);
        for x in x {
            let code = ((x * inverse - base) * per_step + 0.5).clamp(0.0, f32::from(top)) as usize;
            combination += code * place;
            place *= top as usize + 1;
        }
        let (near, exact) = &self.near[combination];
        let error = |p: u16| -> f32 {
            let point = &self.points[usize::from(p)];
            (0..W).map(|i| w[i] * (x[i] * inverse - point[i] - shift).powi(2)).sum()
        };
        let mut best = (f32::INFINITY, near[0]);
        for &p in &near[..if *exact { 1 } else { NEAR }] {
            let e = error(p);
            if e < best.0 {
                best = (e, p);
            }
        }
        let point = &self.points[usize::from(best.1)];
        let mut choice = Choice { point: best.1, ..Choice::default() };
        for i in 0..W {
            let l = point[i] + shift;
            choice.xl += w[i] * x[i] * l;
            choice.ll += w[i] * l * l;
        }
        choice
    }

    /// The points of a group of runs, and the sums of all.
    pub fn all(&self, x: &[[f32; W]], w: &[[f32; W]], inverse: f32, shift: f32) -> (f32, f32) {
        x.iter().zip(w).fold((0.0, 0.0), |(xl, ll), (x, w)| {
            let choice = self.nearest(x, w, inverse, shift);
            (xl + choice.xl, ll + choice.ll)
        })
    }
}
