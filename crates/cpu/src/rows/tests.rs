use super::*;

const LENGTHS: &[usize] = &[0, 1, 5, 31, 32, 33, 100, 4096, 4099];

fn row(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + 13) % 1009) as f32 / 101.0 - 5.0).collect()
}

fn close(got: &[f32], want: &[f64], tolerance: f64) {
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let error = (*g as f64 - w).abs() / w.abs().max(1e-6);
        assert!(error <= tolerance || (g.is_nan() && w.is_nan()), "[{i}] of {}: {g} not {w}", got.len());
    }
}

#[test]
fn softmax_family() {
    for &n in LENGTHS {
        let x = row(n);
        let wide: Vec<f64> = x.iter().map(|&v| v as f64).collect();
        let largest = wide.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = wide.iter().map(|v| (v - largest).exp()).sum();
        let want: Vec<f64> = wide.iter().map(|v| (v - largest).exp() / total).collect();
        let mut y = vec![0.0; n];
        softmax(RowIo::new(&x, &mut y));
        close(&y, &want, 1e-6);
        let mut z = x.clone();
        softmax(RowIo::in_place(&mut z));
        assert_eq!(y, z);
        let logs: Vec<f64> = wide.iter().map(|v| v - largest - total.ln()).collect();
        log_softmax(RowIo::new(&x, &mut y));
        close(&y, &logs, 1e-6);
        let lse = logsumexp(&x) as f64;
        if n > 0 {
            assert!((lse - (largest + total.ln())).abs() < 1e-5);
        } else {
            assert_eq!(lse, f64::NEG_INFINITY);
        }
        let mut y = vec![0.0; n];
        softmax(RowIo::new(&wide, &mut y));
        assert!(y.iter().zip(&want).all(|(a, b)| (a - b).abs() <= 1e-14 * b));
    }
}

#[test]
fn softmax_of_open_rows() {
    let minus = f32::NEG_INFINITY;
    let mut y = [minus; 40];
    softmax(RowIo::in_place(&mut y));
    assert!(y.iter().all(|v| v.is_nan()));
    assert_eq!(logsumexp(&[minus; 40]), minus);
    assert_eq!(logsumexp(&[1.0, f32::INFINITY]), f32::INFINITY);
    assert!(logsumexp(&[1.0, f32::NAN, f32::INFINITY]).is_nan());
    let mut masked = [minus, 0.0, minus, 0.0];
    softmax(RowIo::in_place(&mut masked));
    assert_eq!(masked, [0.0, 0.5, 0.0, 0.5]);
    let mut huge = [1e30f32, 1e30];
    softmax(RowIo::in_place(&mut huge));
    assert_eq!(huge, [0.5, 0.5]);
    let mut with_nan = row(50);
    with_nan[20] = f32::NAN;
    softmax(RowIo::in_place(&mut with_nan));
    assert!(with_nan.iter().all(|v| v.is_nan()));
}

#[test]
fn norms() {
    for &n in LENGTHS {
        // A large offset: cancellation in the variance would show.
        let x: Vec<f32> = row(n).iter().map(|v| v + 300.0).collect();
        let weight: Vec<f32> = (0..n).map(|i| 1.0 + (i % 7) as f32).collect();
        let bias: Vec<f32> = (0..n).map(|i| (i % 5) as f32).collect();
        let wide: Vec<f64> = x.iter().map(|&v| v as f64).collect();
        let affine = Affine { weight: Some(&weight), bias: Some(&bias) };
        let mut y = vec![0.0; n];
        rms_norm(RowIo::new(&x, &mut y), Affine { weight: Some(&weight), bias: None }, 1e-5);
        let rms = (wide.iter().map(|v| v * v).sum::<f64>() / n as f64 + 1e-5).sqrt();
        let want: Vec<f64> = (0..n).map(|i| wide[i] / rms * weight[i] as f64).collect();
        close(&y, &want, 1e-6);
        layer_norm(RowIo::new(&x, &mut y), affine, 1e-5);
        let mean = wide.iter().sum::<f64>() / n as f64;
        let variance = wide.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64;
        for i in 0..n {
            let want = (wide[i] - mean) / (variance + 1e-5).sqrt() * weight[i] as f64 + bias[i] as f64;
            assert!((y[i] as f64 - want).abs() < 2e-4, "{n}[{i}]: {} not {want}", y[i]);
        }
        let mut z = x.clone();
        layer_norm(RowIo::in_place(&mut z), affine, 1e-5);
        assert_eq!(y, z);
    }
}
