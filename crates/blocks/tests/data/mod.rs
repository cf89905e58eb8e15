//! Values like a trained matrix's: normal, with a scale per row and a few outliers.

/// 128 rows of 512 values.
pub fn weights() -> Vec<f32> {
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    let mut x = Vec::with_capacity(128 * 512);
    for row in 0..128 {
        let scale = 0.02 * (1.0 + (row % 7) as f32);
        for _ in 0..512 {
            let normal = (0..12).map(|_| uniform()).sum::<f32>() - 6.0;
            let outlier = if uniform() < 0.002 { 4.0 } else { 1.0 };
            x.push(normal * scale * outlier);
        }
    }
    x
}

/// Root mean square error over root mean square.
pub fn relative_error(x: &[f32], y: &[f32]) -> f64 {
    let square = |v: f32| f64::from(v) * f64::from(v);
    let error: f64 = x.iter().zip(y).map(|(&a, &b)| square(a - b)).sum();
    (error / x.iter().map(|&a| square(a)).sum::<f64>()).sqrt()
}
