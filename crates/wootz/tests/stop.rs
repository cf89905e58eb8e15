//! Evaluations that are asked to stop.

use std::time::{Duration, Instant};
use wootz::{Device, Error, Result, Stop, Tensor};

/// A pseudo-random matrix or vector on the CPU.
fn noise(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_769) >> 8) as f32).collect();
    Tensor::from_vec_on(values, shape, &Device::cpu()).unwrap()
}

/// Evaluates what takes seconds and asks it to stop after some milliseconds: it must end soon, and leave the tensor as it was.
fn is_stopped(what: &str, slow: &Tensor) {
    let stop = Stop::default();
    let (request, begin) = (stop.clone(), Instant::now());
    let asker = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        request.request();
        Instant::now()
    });
    let outcome = stop.over(|| slow.eval().map(drop));
    let end = Instant::now();
    let asked = asker.join().unwrap();
    assert!(matches!(outcome, Err(Error::Stopped { .. })), "{what}: {outcome:?} after {:?}", end - begin);
    assert!(end - asked < Duration::from_secs(1), "{what}: stopped after {:?}", end - asked);
    assert!(!slow.is_evaluated(), "{what}");
}

#[test]
fn long_kernels_stop_when_they_are_asked_to() -> Result<()> {
    let square = noise(&[3000, 3000]);
    let mut product = square.clone();
    for _ in 0..30 {
        product = product.matmul(&square)?;
    }
    is_stopped("products", &product);
    is_stopped("a sort", &noise(&[30_000_000]).sort(0, false)?);
    let numbers = noise(&[20_000_000]);
    let mut powers = numbers.clone();
    for _ in 0..20 {
        powers = powers.pow(&numbers)?;
    }
    is_stopped("powers", &powers.sum()?);
    is_stopped("integers", &square.cast(wootz::DType::I32)?.matmul(&square.cast(wootz::DType::I32)?)?);
    // The device and its threads are as good as before.
    assert_eq!((&noise(&[100_000]) * 0.0)?.sum()?.to_vec::<f32>()?, [0.0]);
    Ok(())
}

#[test]
fn nothing_else_stops() -> Result<()> {
    let stop = Stop::default();
    stop.request();
    let sum = noise(&[1000, 1000]).exp()?.sum()?;
    assert!(matches!(stop.over(|| sum.eval().map(drop)), Err(Error::Stopped { .. })));
    sum.eval()?;
    Ok(())
}
