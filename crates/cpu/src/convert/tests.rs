use super::*;

fn same_f32(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn every_f16_widens_as_the_half_crate_says() {
    let x: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let mut y = vec![0.0; x.len()];
    f16_to_f32(&x, &mut y);
    for (x, y) in x.iter().zip(&y) {
        assert!(same_f32(x.to_f32(), *y), "{:#x}", x.to_bits());
        assert!(same_f32(x.to_f32(), f16_to_f32_element(*x)), "{:#x}", x.to_bits());
    }
}

#[test]
fn f32_narrows_to_nearest_even() {
    let mut x: Vec<f32> = (0..=u32::MAX).step_by(40_009).map(f32::from_bits).collect();
    for h in (0..0x7c00u16).step_by(7) {
        // Halfway cases and their neighbours.
        let (a, b) = (f16::from_bits(h).to_f32(), f16::from_bits(h + 1).to_f32());
        let middle = if b.is_finite() { (a + b) / 2.0 } else { 65520.0 };
        x.extend([middle, middle.next_up(), middle.next_down(), -middle]);
    }
    let (mut half, mut brain) = (vec![f16::ZERO; x.len()], vec![bf16::ZERO; x.len()]);
    f32_to_f16(&x, &mut half);
    f32_to_bf16(&x, &mut brain);
    for (i, &x) in x.iter().enumerate() {
        let want = f16::from_f32(x);
        for got in [half[i], f32_to_f16_element(x)] {
            assert!(got == want || (got.is_nan() && want.is_nan()), "{x:e}: {got:e}, not {want:e}");
            assert_eq!(got.is_sign_negative(), x.is_sign_negative());
        }
        let want = bf16::from_f32(x);
        assert!(
            brain[i] == want || (brain[i].is_nan() && want.is_nan()),
            "{x:e}: {:e}, not {want:e}",
            brain[i]
        );
    }
}

#[test]
fn every_bf16_widens() {
    let x: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
    let mut y = vec![0.0; x.len()];
    bf16_to_f32(&x, &mut y);
    assert!(x.iter().zip(&y).all(|(x, y)| same_f32(x.to_f32(), *y)));
}

#[test]
fn casts_saturate_wrap_and_test() {
    let x = [f32::NAN, 1e20, -1e20, -1.9, 255.9, 3.5, -0.0];
    let mut narrow = [9u8; 7];
    cast(&x, &mut narrow);
    assert_eq!(narrow, [0, 255, 0, 0, 255, 3, 0]);
    let mut truth = [false; 7];
    cast(&x, &mut truth);
    assert_eq!(truth, [true, true, true, true, true, true, false]);
    let mut wrapped = [0i8; 3];
    cast(&[300i64, -129, 127], &mut wrapped);
    assert_eq!(wrapped, [44, 127, 127]);
    let mut floats = [0.0f64; 2];
    cast(&[true, false], &mut floats);
    assert_eq!(floats, [1.0, 0.0]);
}
