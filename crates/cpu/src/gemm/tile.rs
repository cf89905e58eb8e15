//! The micro-kernel: a tile of C held in registers while K runs past.
//!
//! `C[r][c] (+)= Σ_d A[r][d] · B[d][c]` for R rows and two registers of columns. Each step of K loads two registers
//! of B and broadcasts R numbers of A. B is packed (or is a row-major matrix itself); A is packed, or has any strides
//! if it is too small to be worth packing. A *keeping* kernel reads a row-major B and packs it on the way: the stores
//! are free next to the multiplications, whereas packing beforehand waits for memory.

use crate::isa::{Lanes, Level, Real, prefetch};

/// One tile's operands. Strides are in elements.
pub(crate) struct TileArgs<T> {
    pub k: usize,
    pub a: *const T,
    /// Stride between rows of A, and between steps of K. (1, tile rows) when packed.
    pub a_row: isize,
    pub a_depth: isize,
    pub b: *const T,
    /// Stride between steps of K; columns are adjacent.
    pub b_depth: isize,
    pub c: *mut T,
    pub c_row: isize,
    pub c_col: isize,
    /// Columns to write; the kernel computes all that its registers hold.
    pub cols: usize,
    /// Whether to add to C rather than overwrite it.
    pub accumulate: bool,
    /// Where a keeping kernel packs B.
    pub keep: *mut T,
    /// What will be wanted soon, brought nearer on the way through K.
    pub ahead: Ahead,
}

/// Memory to prefetch: a number of cache lines in every [`STRETCH`] of K.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    pub start: *const u8,
    pub lines: usize,
}

impl Ahead {
    /// Nothing to prefetch.
    pub const NOTHING: Ahead = Ahead { start: std::ptr::null(), lines: 0 };
}

/// Bytes of a cache line, as prefetches count.
pub(crate) const LINE: usize = 64;
/// Steps of K between two prefetches: seldom enough that they never queue up before the loads.
pub(crate) const STRETCH: usize = 32;
/// Steps of K that a keeping kernel prefetches ahead in B, whose rows are too far apart for the hardware to foresee.
const KEEP_AHEAD: isize = 16;

/// A micro-kernel for a fixed number of rows.
pub(crate) type TileFn<T> = unsafe fn(&TileArgs<T>);

/// The micro-kernels of one instruction set: `packed[r - 1]`, `strided[r - 1]` and `keeping[r - 1]` for r rows.
pub(crate) struct Tiling<T: 'static> {
    pub rows: usize,
    pub cols: usize,
    pub packed: &'static [TileFn<T>],
    pub strided: &'static [TileFn<T>],
    pub keeping: &'static [TileFn<T>],
}

/// The largest tile of any instruction set, for buffers on the stack.
const MAX_COLS: usize = 32;

/// # Safety
/// The pointers must cover what `k`, the strides, R and `cols` reach (B and `keep`: full registers of columns), C and
/// `keep` must not be touched by others meanwhile, and the processor must have the instruction set of `V`.
#[inline(always)]
unsafe fn tile<V: Lanes, const R: usize, const PACKED_ROWS: usize, const KEEP: bool>(
    args: &TileArgs<V::Elem>,
) {
    // SAFETY: the caller promises all of it; every access below is inside those bounds.
    unsafe {
        let (mut a, mut b, mut keep) = (args.a, args.b, args.keep);
        let (a_row, a_depth) =
            if PACKED_ROWS > 0 { (1, PACKED_ROWS as isize) } else { (args.a_row, args.a_depth) };
        let b_depth = if PACKED_ROWS > 0 { 2 * V::LEN as isize } else { args.b_depth };
        let mut acc = [[V::zero(); 2]; R];
        // A macro and not a closure: a closure would be compiled without the target features.
        macro_rules! step {
            () => {{
                let b0 = V::load(b);
                let b1 = V::load(b.add(V::LEN));
                if KEEP {
                    b0.store(keep);
                    b1.store(keep.add(V::LEN));
                    prefetch(b.wrapping_offset(KEEP_AHEAD * b_depth));
                    prefetch(keep.wrapping_add(KEEP_AHEAD as usize * 2 * V::LEN));
                    keep = keep.add(2 * V::LEN);
                }
                for r in 0..R {
                    let a = V::splat(a.offset(r as isize * a_row));
                    acc[r][0] = a.mul_add(b0, acc[r][0]);
                    acc[r][1] = a.mul_add(b1, acc[r][1]);
                }
                a = a.wrapping_offset(a_depth);
                b = b.wrapping_offset(b_depth);
            }};
        }
        // C is needed only when K is through; by then it should be here.
        let fetch_c = |r: usize| {
            let c = args.c.wrapping_offset(r as isize * args.c_row);
            prefetch(c);
            prefetch(c.wrapping_add(2 * V::LEN - 1));
        };
        let long = args.k >= R * STRETCH;
        if !long {
            (0..R).for_each(fetch_c);
        }
        let mut ahead = args.ahead.start;
        let mut left = args.k;
        let mut row = if long { 0 } else { R };
        while left >= 4 {
            for _ in 0..args.ahead.lines {
                prefetch(ahead);
                ahead = ahead.wrapping_add(LINE);
            }
            if row < R {
                fetch_c(row);
                row += 1;
            }
            let steps = left.min(STRETCH) / 4;
            if KEEP {
                // Unrolled, the compiler would run out of registers.
                for _ in 0..4 * steps {
                    step!();
                }
            } else {
                for _ in 0..steps {
                    step!();
                    step!();
                    step!();
                    step!();
                }
            }
            left -= 4 * steps;
        }
        for _ in 0..left {
            step!();
        }
        if args.cols == 2 * V::LEN && args.c_col == 1 {
            for r in 0..R {
                let c = args.c.offset(r as isize * args.c_row);
                let c1 = c.add(V::LEN);
                if args.accumulate {
                    acc[r][0] = acc[r][0].add(V::load(c));
                    acc[r][1] = acc[r][1].add(V::load(c1));
                }
                acc[r][0].store(c);
                acc[r][1].store(c1);
            }
        } else {
            let mut row = [V::Elem::ZERO; MAX_COLS];
            for r in 0..R {
                acc[r][0].store(row.as_mut_ptr());
                acc[r][1].store(row.as_mut_ptr().add(V::LEN));
                let c = args.c.offset(r as isize * args.c_row);
                for (j, &value) in row[..args.cols].iter().enumerate() {
                    let c = c.offset(j as isize * args.c_col);
                    *c = if args.accumulate { *c + value } else { value };
                }
            }
        }
    }
}

macro_rules! tilings {
    ($($level:ident $isa:ident($($feature:meta)?): $rows:literal [$($r:literal)*];)*) => {
        $(
            $(#[$feature])?
            unsafe fn $level<T: Real, const R: usize, const PACKED: usize, const KEEP: bool>(args: &TileArgs<T>) {
                // SAFETY: the same promises.
                unsafe { tile::<T::Lanes<crate::isa::$isa>, R, PACKED, KEEP>(args) }
            }
        )*

        /// The micro-kernels of `level`.
        pub(crate) fn tiling<T: Real>(level: Level) -> Tiling<T> {
            match level {
                $(Level::$isa => Tiling {
                    rows: $rows,
                    cols: 2 * <T::Lanes<crate::isa::$isa> as Lanes>::LEN,
                    packed: const { &[$($level::<T, $r, $rows, false> as TileFn<T>),*] },
                    strided: const { &[$($level::<T, $r, 0, false> as TileFn<T>),*] },
                    keeping: const { &[$($level::<T, $r, 0, true> as TileFn<T>),*] },
                },)*
            }
        }
    };
}
tilings! {
    baseline Baseline(): 4 [1 2 3 4];
    neon Neon(): 8 [1 2 3 4 5 6 7 8];
    avx2 Avx2(cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))): 6 [1 2 3 4 5 6];
    avx512 Avx512(cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx2,fma"))):
        12 [1 2 3 4 5 6 7 8 9 10 11 12];
}
