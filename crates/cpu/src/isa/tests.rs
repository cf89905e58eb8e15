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
