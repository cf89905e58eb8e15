//! Many activation rows: tiles of two vectors of weight rows × a few activation rows, in registers.
//!
//! Loop order: the weight rows of a tile are unpacked for a range of columns, which is then multiplied with all
//! activation rows. Without an instruction that sums four products, those of 4-bit codes are summed in 16 bits over
//! an entire group, so that 32 products cost only a multiplication and an addition.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;

use super::format::Format;
use super::panel::{self, Panel};
use super::simd::{Lanes, Simd};
use super::{Acts, Output, Record, Weights};

/// Vectors of weight rows in a tile: an activation that is broadcast once meets both.
const VECTORS: usize = 2;

/// What a thread keeps from one product to the next.
struct Room {
    panels: [Box<Panel>; 2],
    shifts: Vec<i32>,
}

thread_local! {
    static ROOM: Cell<Option<Box<Room>>> = const { Cell::new(None) };
}

impl Room {
    fn take() -> Box<Room> {
        let new = || Box::new(Room { panels: [Panel::boxed(), Panel::boxed()], shifts: Vec::new() });
        ROOM.take().unwrap_or_else(new)
    }
}

/// The product of a range of weight rows with all activations: `S` unpacks, `L` multiplies.
///
/// # Safety
/// As [`crate::quant::matmul_rows`].
#[inline(always)]
pub(super) unsafe fn rows<S: Simd, L: Lanes, F: Format>(
    weights: &Weights<'_>,
    acts: &Acts<'_>,
    rows: Range<usize>,
    out: Output<'_>,
) {
    let mut room = Room::take();
    let Room { panels, shifts } = &mut *room;
    if shifts_signed::<L, F>() {
        note_shifts(acts, 32 / parts::<F>(), shifts);
    }
    let used = Tile::<L, F>::ROWS / panel::ROWS;
    // The panels of a tile share the first-level cache.
    let stretch = if used == 1 { panel::COLS } else { 512 };
    for row in rows.clone().step_by(Tile::<L, F>::ROWS) {
        for start in (0..weights.cols).step_by(stretch) {
            let cols = start..(start + stretch).min(weights.cols);
            // SAFETY: `row` is in the range, columns are whole groups and start at a chunk; the output is the caller's.
            unsafe {
                for (i, panel) in panels.iter_mut().enumerate().take(used) {
                    let first = (row + i * panel::ROWS).min(rows.end - 1);
                    let range = (first, rows.end);
                    if shifts_signed::<L, F>() {
                        panel::unpack::<S, F, true>(weights, range, cols.clone(), panel);
                    } else {
                        panel::unpack::<S, F, false>(weights, range, cols.clone(), panel);
                    }
                }
                let panels = [&*panels[0], &*panels[1]];
                let tile = Tile::<L, F> { panels, shifts, row, end: rows.end, cols, of: PhantomData };
                tile.all_acts(acts, out);
            }
        }
    }
    ROOM.set(Some(room));
}

/// Groups of activations that a group of weights meets: two if it has two scales.
const fn parts<F: Format>() -> usize {
    if F::SPLIT { 2 } else { 1 }
}

/// Whether signed codes are unpacked as unsigned ones, 128 above.
const fn shifts_signed<L: Lanes, F: Format>() -> bool {
    F::SIGNED && L::SHIFTS_SIGNED
}

/// What codes that are 128 too large add to the products with each `width` activations, negated.
#[inline(always)]
fn note_shifts(acts: &Acts<'_>, width: usize, shifts: &mut Vec<i32>) {
    let layout = acts.layout();
    shifts.clear();
    for row in 0..acts.rows() {
        let record = acts.record(row);
        // Padding included: staged weights are padded as activations are.
        for start in (0..record.codes.len()).step_by(width) {
            let mut sum = 0;
            for &code in &record.codes[start..start + width] {
                sum += i32::from(code);
            }
            if layout.precise() {
                sum *= 256;
                for &code in &record.fine[start..start + width] {
                    sum += i32::from(code);
                }
            }
            shifts.push(-128 * sum);
        }
    }
}

/// How many 16-bit sums of two products can be added: 127 is the largest activation.
const fn depth<F: Format>() -> usize {
    if F::SIGNED { 1 } else { i16::MAX as usize / (2 * 127 * F::MAX_CODE) }
}

/// Unpacked weight rows, and which part of the product they are.
struct Tile<'a, L, F> {
    panels: [&'a Panel; 2],
    /// See [`note_shifts`]; of all activation rows.
    shifts: &'a [i32],
    row: usize,
    end: usize,
    cols: Range<usize>,
    of: PhantomData<(L, F)>,
}

/// An activation row, and its part of what [`note_shifts`] found.
#[derive(Clone, Copy)]
struct Right<'a> {
    record: Record<'a>,
    shifts: &'a [i32],
}

/// Where a group is, in the panels and in the activations.
#[derive(Clone, Copy)]
struct Group {
    in_panel: usize,
    in_acts: usize,
}

impl<L: Lanes, F: Format> Tile<'_, L, F> {
    /// Weight rows.
    const ROWS: usize = VECTORS * L::COUNT;

    /// Whether codes in panels are signed.
    const SIGNED: bool = F::SIGNED && !L::SHIFTS_SIGNED;

    /// Activation rows that fill the registers: a vector of either panel row takes a float and an integer at a time; where
    /// 16-bit sums last for a few products only, both they and 32-bit sums.
    const ACTS: usize = if !L::FUSED && matches!(depth::<F>(), 2 | 3) { 2 } else { L::ACTS };

    /// The tile with every activation row.
    ///
    /// # Safety
    /// The columns must exist in `acts`, and the tile's rows of every activation row must be writable in `out`.
    #[inline(always)]
    unsafe fn all_acts(&self, acts: &Acts<'_>, out: Output<'_>) {
        // SAFETY: the caller's promises.
        unsafe {
            match acts.layout().precise() {
                false => self.acts_as::<false>(acts, out),
                true => self.acts_as::<true>(acts, out),
            }
        }
    }

    /// # Safety
    /// As `all_acts`; `PRECISE` says whether activations have fine codes.
    #[inline(always)]
    unsafe fn acts_as<const PRECISE: bool>(&self, acts: &Acts<'_>, out: Output<'_>) {
        let n = acts.rows();
        let most = if PRECISE && L::PRECISE_ACTS > 0 { L::PRECISE_ACTS } else { Self::ACTS };
        for first in (0..n).step_by(most) {
            let left = n - first;
            // SAFETY: the caller's promises; activation rows are below `n`.
            unsafe {
                match most {
                    _ if left == 1 => self.multiply::<PRECISE, 1>(acts, first..n, out),
                    2 => self.multiply::<PRECISE, 2>(acts, first..n, out),
                    3 => self.multiply::<PRECISE, 3>(acts, first..n, out),
                    4 if left == 2 => self.multiply::<PRECISE, 2>(acts, first..n, out),
                    4 => self.multiply::<PRECISE, 4>(acts, first..n, out),
                    _ if left <= 3 => self.multiply::<PRECISE, 3>(acts, first..n, out),
                    _ => self.multiply::<PRECISE, 6>(acts, first..n, out),
                }
            }
        }
    }

    /// The first `A` of the activation rows, or as many as there are, over the columns of the tile.
    ///
    /// # Safety
    /// As `all_acts`, and `acts` must have the rows, of which there is one at least.
    #[inline(always)]
    unsafe fn multiply<const PRECISE: bool, const A: usize>(
        &self,
        acts: &Acts<'_>,
        rows: Range<usize>,
        out: Output<'_>,
    ) {
        // SAFETY: the caller's promises: rows and columns exist, and the output may be written.
        unsafe {
            let mut sums = [[L::no_floats(); A]; VECTORS];
            let base = self.cols.start / 32;
            // Past the last row it is repeated, and not stored.
            let mut rights = [self.right(acts, rows.start); A];
            for (i, right) in rights.iter_mut().enumerate().skip(1) {
                *right = self.right(acts, (rows.start + i).min(rows.end - 1));
            }
            for g in 0..self.cols.len() / 32 {
                let group = Group { in_panel: g, in_acts: base + g };
                if F::SPLIT {
                    self.part::<PRECISE, A, 0>(&rights, group, &mut sums);
                    self.part::<PRECISE, A, 1>(&rights, group, &mut sums);
                } else {
                    self.part::<PRECISE, A, 0>(&rights, group, &mut sums);
                }
            }
            for (i, row) in rows.enumerate().take(A) {
                for (v, sums) in sums.iter().enumerate() {
                    self.store(sums[i], self.row + v * L::COUNT, out.row(row));
                }
            }
        }
    }

    /// An activation row as the tile meets it.
    #[inline(always)]
    fn right<'r>(&'r self, acts: &Acts<'r>, row: usize) -> Right<'r> {
        let shifts = if shifts_signed::<L, F>() {
            let per_row = acts.record(row).codes.len() / 32 * parts::<F>();
            &self.shifts[row * per_row..][..per_row]
        } else {
            &[]
        };
        Right { record: acts.record(row), shifts }
    }

    /// Adds a whole group, or half `H` of one that is split.
    ///
    /// # Safety
    /// The panels and the activations must have the group.
    #[inline(always)]
    unsafe fn part<const PRECISE: bool, const A: usize, const H: usize>(
        &self,
        rights: &[Right<'_>; A],
        group: Group,
        sums: &mut [[L::Floats; A]; VECTORS],
    ) {
        let (line, at) = if F::SPLIT {
            (group.in_panel * 2 + H, group.in_acts * 2 + H)
        } else {
            (group.in_panel, group.in_acts)
        };
        // SAFETY: as the caller promises.
        unsafe {
            let mut products = [[L::no_ints(); A]; VECTORS];
            if PRECISE && L::PRECISE_ACTS > 0 {
                self.add_both_products::<A, H>(rights, group, &mut products);
            } else {
                self.add_products::<A, H>(rights, |r| r.codes, group, &mut products);
                if PRECISE {
                    for v in 0..VECTORS {
                        for i in 0..A {
                            products[v][i] = L::times_256(products[v][i]);
                        }
                    }
                    self.add_products::<A, H>(rights, |r| r.fine, group, &mut products);
                }
            }
            if shifts_signed::<L, F>() {
                for i in 0..A {
                    let shift = L::splat_int(rights[i].shifts.get_unchecked(at));
                    for v in 0..VECTORS {
                        products[v][i] = L::add_ints(products[v][i], shift);
                    }
                }
            }
            for v in 0..VECTORS {
                let (panel, lane) = self.vector(v);
                let scale = L::load(panel.scales[line][lane..].as_ptr());
                for i in 0..A {
                    let act_scale = L::splat(rights[i].record.scales.get_unchecked(group.in_acts));
                    let product = L::mul(L::from_ints(products[v][i]), act_scale);
                    sums[v][i] = L::mul_add(product, scale, sums[v][i]);
                }
                if F::OFFSET {
                    let offset = L::load(panel.offsets[line][lane..].as_ptr());
                    for i in 0..A {
                        let record = &rights[i].record;
                        let act_sums = if F::SPLIT { record.half_sums } else { record.sums };
                        sums[v][i] = L::mul_add(offset, L::splat(act_sums.get_unchecked(at)), sums[v][i]);
                    }
                }
            }
        }
    }

    /// The products with codes and with fine codes of a whole group, or of half `H` of one that is split, added up.
    ///
    /// # Safety
    /// As `part`; the activations must have fine codes.
    #[inline(always)]
    unsafe fn add_both_products<const A: usize, const H: usize>(
        &self,
        rights: &[Right<'_>; A],
        group: Group,
        total: &mut [[L::Ints; A]; VECTORS],
    ) {
        let (first, end) = if F::SPLIT { (4 * H, 4 * H + 4) } else { (0, 8) };
        // SAFETY: the panels hold the group, and the activations 32 codes of it.
        unsafe {
            let mut coarse = [[L::no_ints(); A]; VECTORS];
            for k in first..end {
                let weights: [L::Bytes; VECTORS] = [self.weights(group, 0, k), self.weights(group, 1, k)];
                for i in 0..A {
                    let at = group.in_acts * 32 + k * 4;
                    let codes = L::splat_four(rights[i].record.codes.as_ptr().add(at));
                    let fine = L::splat_four(rights[i].record.fine.as_ptr().add(at));
                    for v in 0..VECTORS {
                        coarse[v][i] = L::dot(coarse[v][i], weights[v], codes, Self::SIGNED);
                        total[v][i] = L::dot(total[v][i], weights[v], fine, Self::SIGNED);
                    }
                }
            }
            for v in 0..VECTORS {
                for i in 0..A {
                    total[v][i] = L::add_ints(total[v][i], L::times_256(coarse[v][i]));
                }
            }
        }
    }

    /// Four codes of each weight row of a vector: the `k`-th four of the group.
    ///
    /// # Safety
    /// As `part`.
    #[inline(always)]
    unsafe fn weights(&self, group: Group, v: usize, k: usize) -> L::Bytes {
        let (panel, lane) = self.vector(v);
        // SAFETY: the panel has the group, and lines are aligned to a vector.
        unsafe { L::load_aligned(panel.codes[group.in_panel][k][lane..].as_ptr().cast()) }
    }

    /// The panel of a vector of weight rows, and the vector's first row in it.
    #[inline(always)]
    fn vector(&self, v: usize) -> (&Panel, usize) {
        (self.panels[v * L::COUNT / panel::ROWS], v * L::COUNT % panel::ROWS)
    }

    /// Adds the integer products of a whole group, or of half `H` of one that is split.
    ///
    /// # Safety
    /// As `part`; `codes` must have the group.
    #[inline(always)]
    unsafe fn add_products<const A: usize, const H: usize>(
        &self,
        rights: &[Right<'_>; A],
        codes: impl for<'r> Fn(&Record<'r>) -> &'r [i8],
        group: Group,
        total: &mut [[L::Ints; A]; VECTORS],
    ) {
        let (first, end) = if F::SPLIT { (4 * H, 4 * H + 4) } else { (0, 8) };
        let depth = depth::<F>();
        // SAFETY: the panels hold the group, and the activations 32 codes of it.
        unsafe {
            let acts = |i: usize, k: usize| {
                L::splat_four(codes(&rights[i].record).as_ptr().add(group.in_acts * 32 + k * 4))
            };
            if L::FUSED || depth == 1 {
                for k in first..end {
                    for v in 0..VECTORS {
                        let w = self.weights(group, v, k);
                        for i in 0..A {
                            total[v][i] = L::dot(total[v][i], w, acts(i, k), Self::SIGNED);
                        }
                    }
                }
                return;
            }
            let mut part = [[L::no_ints(); A]; VECTORS];
            // Written out and not a loop, so that every question of it is answered by the compiler.
            macro_rules! steps {
                ($($k:literal)*) => {$(
                    if (first..end).contains(&$k) {
                        let before = $k - first;
                        let (fresh, flush) = (before % depth == 0, before % depth == depth - 1 || $k + 1 == end);
                        for v in 0..VECTORS {
                            let w = self.weights(group, v, $k);
                            for i in 0..A {
                                let pairs = L::pairs(w, acts(i, $k), F::SIGNED);
                                part[v][i] = if fresh { pairs } else { L::add_pairs(part[v][i], pairs) };
                                if flush {
                                    total[v][i] = L::add_ints(total[v][i], L::widen(part[v][i]));
                                }
                            }
                        }
                    }
                )*};
            }
            steps!(0 1 2 3 4 5 6 7);
        }
    }

    /// Adds (or, for the first columns, writes) the sums of a vector of weight rows starting at `row`.
    ///
    /// # Safety
    /// Rows from `row` to the smaller of `row + L::COUNT` and `end` must be writable at `out`.
    #[inline(always)]
    unsafe fn store(&self, sums: L::Floats, row: usize, out: *mut f32) {
        // SAFETY: only values of rows below `end` are touched, which the caller may write.
        unsafe {
            if row + L::COUNT <= self.end {
                let at = out.add(row);
                let before = if self.cols.start == 0 { L::no_floats() } else { L::load(at) };
                L::store(L::add(before, sums), at);
                return;
            }
            let mut values = [0f32; 16];
            L::store(sums, values.as_mut_ptr());
            for (i, value) in values.iter().enumerate().take(self.end.saturating_sub(row)) {
                let at = out.add(row + i);
                *at = value + if self.cols.start == 0 { 0.0 } else { *at };
            }
        }
    }
}
