use super::*;

struct WhoAmI;
impl Kernel for WhoAmI {
    type Out = Level;
    #[inline(always)]
    fn run<I: Isa>(self) -> Level {
        I::LEVEL
    }
}

#[test]
fn dispatch_reaches_every_available_level() {
    for level in available() {
        // SAFETY: the level is available.
        assert_eq!(unsafe { dispatch_at(level, WhoAmI) }, level);
    }
    assert!(available().contains(&level()));
    assert_eq!(dispatch(WhoAmI), level());
}

struct OnePlusEpsSquared;
impl Kernel for OnePlusEpsSquared {
    type Out = bool;
    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        // (1+e)² - 1 - 2e is e² exactly when the product is not rounded, and 0 when it is.
        let x = 1.0 + std::hint::black_box(f32::EPSILON);
        (I::mul_add(x, x, -(1.0 + 2.0 * f32::EPSILON)) != 0.0) == I::FMA
    }
}

#[test]
fn mul_add_is_fused_exactly_where_promised() {
    for level in available() {
        // SAFETY: the level is available.
        assert!(unsafe { dispatch_at(level, OnePlusEpsSquared) }, "{level:?}");
    }
}

/// Transposes a square of whole lines, past the caches or not.
struct Square<T, const PAST: bool>(std::marker::PhantomData<T>);
impl<T: Copy + Default + PartialEq + From<u16>, const PAST: bool> Kernel for Square<T, PAST> {
    type Out = bool;
    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        #[repr(align(64))]
        struct Lines<T>([T; 16 * 32]);
        let side = line_side::<I>(size_of::<T>());
        let (mut from, mut to) = (Lines([T::default(); 512]), Lines([T::default(); 512]));
        (0..512).for_each(|i| from.0[i] = T::from(i as u16 + 1));
        if side == 0 {
            return true;
        }
        // SAFETY: both have 16 rows of 32 elements; this runs at the level of `I`, and rows start with cache lines.
        unsafe { transpose_lines::<I, T, PAST>(from.0.as_ptr(), 32, to.0.as_mut_ptr(), 32) };
        (0..512).all(|i| {
            let (r, c) = (i / 32, i % 32);
            to.0[i] == if r < side && c < side { from.0[c * 32 + r] } else { T::default() }
        })
    }
}

#[test]
fn lines_are_transposed_at_every_level() {
    for level in available() {
        // SAFETY: the level is available.
        unsafe {
            assert!(dispatch_at(level, Square::<u32, false>(Default::default())), "{level:?}");
            assert!(dispatch_at(level, Square::<u32, true>(Default::default())), "{level:?}");
            assert!(dispatch_at(level, Square::<u64, false>(Default::default())), "{level:?}");
            assert!(dispatch_at(level, Square::<u64, true>(Default::default())), "{level:?}");
        }
    }
}
