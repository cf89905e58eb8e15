//! Tensors from the outside: what a user of the crate relies on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wootz::{CustomKernel, DType, Device, GpuSource, Index, Language, Result, Tensor, compile};

#[test]
fn chains_and_reductions() -> Result<()> {
    let x = Tensor::arange(0, 6, 1, DType::F32)?.reshape([2, 3])?;
    let y = ((&x * 2.0)? + &x)?;
    assert_eq!(y.to_vec::<f32>()?, [0.0, 3.0, 6.0, 9.0, 12.0, 15.0]);
    assert_eq!(y.sum_axes([0], false)?.to_vec::<f32>()?, [9.0, 15.0, 21.0]);
    assert_eq!(y.sum_axes([1], true)?.to_vec::<f32>()?, [9.0, 36.0]);
    assert_eq!(y.sum()?.item()?.to_f64(), 45.0);
    assert_eq!(y.t()?.to_vec::<f32>()?, [0.0, 9.0, 3.0, 12.0, 6.0, 15.0]);
    let m = x.matmul(&x.t()?)?;
    assert_eq!(m.to_vec::<f32>()?, [5.0, 14.0, 14.0, 50.0]);
    Ok(())
}

#[test]
fn printing_aligns_and_shortens() -> Result<()> {
    let x = Tensor::arange(0, 6, 1, DType::F32)?.reshape([2, 3])?;
    assert_eq!(x.to_string(), "[[0., 1., 2.],\n [3., 4., 5.]]");
    let long = Tensor::arange(0, 2000, 1, DType::I32)?;
    assert_eq!(long.to_string(), "[   0,    1,    2, ..., 1997, 1998, 1999]");
    assert_eq!(format!("{x:?}"), "Tensor(f32[2, 3] on cpu)");
    Ok(())
}

#[test]
fn indexing_reads_and_writes() -> Result<()> {
    let x = Tensor::arange(0, 12, 1, DType::I32)?.reshape([3, 4])?;
    let part = x.index(&[Index::Range { start: None, stop: None, step: -2 }, Index::At(-1)])?;
    assert_eq!(part.to_vec::<i32>()?, [11, 3]);
    let set = x.index_assign(&[Index::At(1)], &Tensor::scalar_on(0, DType::I32, x.device()))?;
    assert_eq!(set.index(&[Index::At(1)])?.to_vec::<i32>()?, [0; 4]);
    let rows = Tensor::from_slice(&[2i64, -3])?;
    assert_eq!(x.take(&rows, 0)?.to_vec::<i32>()?, [8, 9, 10, 11, 0, 1, 2, 3]);
    let big = x.mask_select(&x.greater(8)?)?;
    assert_eq!(big.to_vec::<i32>()?, [9, 10, 11]);
    Ok(())
}

#[test]
fn random_numbers_repeat_and_have_the_right_moments() -> Result<()> {
    let a = Tensor::normal([20_000], 7, DType::F32)?;
    let b = Tensor::normal([20_000], 7, DType::F32)?;
    assert_eq!(a.to_vec::<f32>()?, b.to_vec::<f32>()?);
    assert!(a.mean()?.to_f64()?.abs() < 0.03);
    assert!((a.std(0.0)?.to_f64()? - 1.0).abs() < 0.03);
    let u = Tensor::uniform([20_000], 8, DType::F32)?;
    assert!(u.max()?.to_f64()? < 1.0 && u.min()?.to_f64()? >= 0.0);
    let dice = Tensor::integers([6000], 1, 7, 9, DType::I32)?;
    for face in 1..=6 {
        let count = dice.equal(face)?.count_nonzero([0], false)?.to_f64()?;
        assert!((800.0..1200.0).contains(&count), "{face}: {count}");
    }
    Ok(())
}

/// How far counts are from equal ones: the chi-square statistic, in standard deviations above its mean.
fn unevenness(counts: &[f64]) -> f64 {
    let expected = counts.iter().sum::<f64>() / counts.len() as f64;
    let chi_square: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
    let freedom = (counts.len() - 1) as f64;
    (chi_square - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn random_integers_are_equally_likely() -> Result<()> {
    // Ranges of any size fall into as many classes; those of the large ones tell apart numbers that more of the bits give.
    for (high, classes) in
        [(6i64, 6i64), (300, 300), (100_003, 100), (3 << 30, 3), ((1 << 32) - 1, 5), (1 << 32, 16)]
    {
        let class = Tensor::integers([200_000], 0, high, 11, DType::I64)?.remainder(classes)?;
        let mut counts = vec![0.0; classes as usize];
        class.to_vec::<i64>()?.iter().for_each(|&class| counts[class as usize] += 1.0);
        let unevenness = unevenness(&counts);
        assert!(unevenness.abs() < 5.0, "{high}: {unevenness} deviations");
    }
    let most = Tensor::integers([1000], -5, (1 << 32) - 5, 3, DType::I64)?;
    let (low, high) = (most.min()?.to_f64()?, most.max()?.to_f64()?);
    assert!(low >= -5.0 && high < 4_294_967_291.0 && high - low > 4e9, "{low} to {high}");
    Ok(())
}

#[test]
fn einsum_contracts() -> Result<()> {
    let a = Tensor::uniform([2, 3, 4], 1, DType::F32)?;
    let b = Tensor::uniform([2, 4, 5], 2, DType::F32)?;
    let by_einsum = Tensor::einsum("bij,bjk->bik", &[&a, &b])?;
    let by_matmul = a.matmul(&b)?;
    assert_eq!(by_einsum.to_vec::<f32>()?, by_matmul.to_vec::<f32>()?);
    let m = Tensor::arange(0, 9, 1, DType::F64)?.reshape([3, 3])?;
    assert_eq!(Tensor::einsum("ii", &[&m])?.to_f64()?, 12.0);
    assert_eq!(Tensor::einsum("ii->i", &[&m])?.to_vec::<f64>()?, [0.0, 4.0, 8.0]);
    assert_eq!(Tensor::einsum("ij->ji", &[&m])?.to_vec::<f64>()?, m.t()?.to_vec::<f64>()?);
    assert!(Tensor::einsum("ij,jk->iq", &[&m, &m]).is_err());
    Ok(())
}

#[test]
fn errors_carry_the_facts() -> Result<()> {
    let a = Tensor::zeros([2, 3], DType::F32)?;
    let b = Tensor::zeros([4], DType::F32)?;
    let text = (&a + &b).unwrap_err().to_string();
    assert!(text.contains("add") && text.contains("[2, 3]") && text.contains("[4]"), "{text}");
    let text = a.reshape([7]).unwrap_err().to_string();
    assert!(text.contains("[2, 3]") && text.contains('6'), "{text}");
    assert!(a.sum_axes([2], false).unwrap_err().to_string().contains("axis 2"));
    let zero = Tensor::from_slice(&[1i32, 0])?;
    let text = zero.floor_divide(&zero)?.eval().unwrap_err().to_string();
    assert!(text.contains("division by zero") && text.contains("floor_divide"), "{text}");
    assert_eq!(zero.to_vec::<i32>()?, [1, 0], "operands stay usable");
    let text = Device::from_name("tpu").unwrap_err().to_string();
    assert!(text.contains("tpu") && text.contains("cpu"), "{text}");
    let text = Tensor::zeros([1 << 40, 1 << 30], DType::F32).unwrap_err().to_string();
    assert!(text.contains("at most") && text.contains("elements"), "{text}");
    let huge = Tensor::ones([1 << 45], DType::F32)?.eval().unwrap_err().to_string();
    assert!(huge.contains("cannot allocate"), "{huge}");
    let text = Tensor::from_slice(&[1u8])?.add(300).unwrap_err().to_string();
    assert!(text.contains("300") && text.contains("u8"), "{text}");
    let text = Tensor::from_slice(&[1.0f32])?.take(&Tensor::from_slice(&[5i64])?, 0)?.eval().unwrap_err();
    assert!(text.to_string().contains("out of range"), "{text}");
    Ok(())
}

#[test]
fn compiled_functions_replay() -> Result<()> {
    let device = Device::cpu();
    let weight = Tensor::arange(0, 4, 1, DType::F32)?.reshape([2, 2])?;
    let f = compile(&device, move |args| Ok(vec![args[0].matmul(&weight)?.add(1.0)?.relu()?]));
    for i in 0..3 {
        let x = Tensor::full([1, 2], i as f32, DType::F32)?;
        let want = [2.0 * i as f32 + 1.0, 4.0 * i as f32 + 1.0];
        assert_eq!(f.call(&[&x])?[0].to_vec::<f32>()?, want);
    }
    let looks = compile(&device, |args| {
        args[0].item()?;
        Ok(vec![])
    });
    assert!(looks.call(&[&Tensor::ones([1], DType::F32)?]).is_err());
    Ok(())
}

#[test]
fn donated_state_is_updated_in_place() -> Result<()> {
    let cache = Tensor::zeros([4, 2], DType::F32)?.copied()?;
    let start = Tensor::from_slice(&[2i32])?;
    let rows = Tensor::ones([1, 2], DType::F32)?;
    let updated = cache.donate()?.write_at(&rows, &start, 0)?;
    assert_eq!(updated.to_vec::<f32>()?, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    assert_eq!(cache.to_vec::<f32>()?, updated.to_vec::<f32>()?, "the same buffer");
    let copied = updated.write_at(&rows, &Tensor::from_slice(&[0i32])?, 0)?;
    assert_eq!(copied.to_vec::<f32>()?[..2], [1.0, 1.0]);
    assert_eq!(updated.to_vec::<f32>()?[..2], [0.0, 0.0], "not donated, so not changed");
    Ok(())
}

#[test]
fn deep_graphs_do_not_overflow_the_stack() -> Result<()> {
    let mut x = Tensor::zeros([4], DType::F32)?;
    for _ in 0..100_000 {
        x = x.add(1.0)?;
    }
    assert_eq!(x.to_vec::<f32>()?, [100_000.0; 4]);
    let mut y = Tensor::zeros([4], DType::F32)?;
    for _ in 0..100_000 {
        y = y.add(1.0)?;
    }
    drop(y);
    Ok(())
}

#[test]
fn many_threads_share_tensors() -> Result<()> {
    let x = Tensor::arange(0, 100_000, 1, DType::F32)?;
    let threads: Vec<_> = (0..8)
        .map(|i| {
            let x = x.clone();
            std::thread::spawn(move || x.mul(i)?.sum()?.to_f64())
        })
        .collect();
    let sum = (0..100_000u64).sum::<u64>() as f64;
    for (i, thread) in threads.into_iter().enumerate() {
        let got = thread.join().expect("no panic")?;
        assert!((got - i as f64 * sum).abs() <= 1e-6 * i as f64 * sum, "{i}: {got}");
    }
    Ok(())
}

#[test]
fn a_users_kernel_is_a_node_like_any_other() -> Result<()> {
    let double = Arc::new(CustomKernel::new("double").with_host(|inputs, out| {
        let values = inputs[0].bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("four")));
        out.chunks_exact_mut(4).zip(values).for_each(|(to, x)| to.copy_from_slice(&(2.0 * x).to_le_bytes()));
    }));
    let x = Tensor::arange(0, 6, 1, DType::F32)?.reshape([2, 3])?;
    // Transposed and shifted: the kernel sees row-major values all the same, and its result is read by more code.
    for input in [x.t()?, x.narrow(1, 1, 2)?, (&x + 1.0)?] {
        let y = (Tensor::custom(&double, &[&input], input.shape().clone(), DType::F32)? + 1.0)?;
        assert_eq!(y.to_vec::<f32>()?, ((&input * 2.0)? + 1.0)?.to_vec::<f32>()?);
    }
    let empty = Tensor::zeros([0], DType::F32)?;
    assert!(Tensor::custom(&double, &[&empty], [0], DType::F32)?.to_vec::<f32>()?.is_empty());
    Ok(())
}

#[test]
fn a_kernel_for_another_device_is_refused_by_name() -> Result<()> {
    let source = GpuSource {
        language: Language::Msl,
        text: String::new(),
        entry: "f".into(),
        grid: [1; 3],
        group: [1; 3],
        constants: vec![],
    };
    let kernel = Arc::new(CustomKernel::new("mine").with_source(source));
    let x = Tensor::from_slice(&[1.0f32])?.to_device(&Device::cpu())?;
    let error = Tensor::custom(&kernel, &[&x], [1], DType::F32)?.to_vec::<f32>().expect_err("no host code");
    let message = "mine for f32 is not available on cpu: it is implemented for MSL only";
    assert_eq!(error.to_string(), message);
    Ok(())
}

#[test]
fn long_rows_are_sorted_by_all_workers() -> Result<()> {
    let n = 150_001;
    let values: Vec<f32> = (0..n)
        .map(|i: u32| {
            if i.is_multiple_of(1009) { f32::NAN } else { (i.wrapping_mul(2_654_435_761) >> 12) as f32 - 5e5 }
        })
        .collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| {
        values[i].partial_cmp(&values[j]).unwrap_or(values[i].is_nan().cmp(&values[j].is_nan()))
    });
    let cpu = Device::from_name("cpu")?;
    let x = Tensor::from_slice_on(&values, &cpu)?;
    // With code fused on both sides, and without.
    let sorted = x.neg()?.neg()?.sort(-1, false)?.add(1.0)?.to_vec::<f32>()?;
    let places = x.argsort(-1, false)?.to_vec::<i64>()?;
    for (i, &place) in order.iter().enumerate() {
        assert_eq!(places[i] as usize, place, "at {i}");
        let want = values[place] + 1.0;
        assert!(sorted[i] == want || sorted[i].is_nan() && want.is_nan(), "at {i}");
    }
    // The better half, of a dtype whose keys and places take 16 bytes.
    let doubles: Vec<f64> = values.iter().map(|&v| v as f64).collect();
    let (best, places) = Tensor::from_slice_on(&doubles, &cpu)?.top_k(n as usize / 2, -1)?;
    let (best, places) = (best.to_vec::<f64>()?, places.to_vec::<i64>()?);
    assert!(best[0].is_nan() && best.len() == n as usize / 2);
    for (value, &place) in best.iter().zip(&places) {
        let want = doubles[place as usize];
        assert!(*value == want || value.is_nan() && want.is_nan());
    }
    assert!(best.windows(2).all(|w| w[0].is_nan() || w[0] >= w[1]));
    Ok(())
}

#[test]
fn extremes_of_long_rows_are_found_by_all_workers() -> Result<()> {
    let n = 100_003;
    let at = |places: &[(usize, f32)]| -> Result<Vec<i64>> {
        let mut row = vec![0.5f32; n];
        places.iter().for_each(|&(place, value)| row[place] = value);
        let row = Tensor::from_slice_on(&row, &Device::cpu())?;
        // As it lies in memory, and computed on the way.
        let computed = row.mul(2.0)?;
        assert_eq!(row.argmax(0)?.to_vec::<i64>()?, computed.argmax(0)?.to_vec::<i64>()?);
        Ok([row.argmax(0)?.to_vec::<i64>()?, row.neg()?.argmin(0)?.to_vec()?].concat())
    };
    assert_eq!(at(&[])?, [0, 0], "the first of equals");
    assert_eq!(at(&[(n - 1, 3.0)])?, [n as i64 - 1; 2]);
    assert_eq!(at(&[(70_000, 3.0), (90_000, 3.0), (5, 2.0)])?, [70_000; 2]);
    assert_eq!(at(&[(60_000, f32::NAN), (99_000, f32::NAN), (5, 7.0)])?, [60_000; 2], "the first NaN");
    assert_eq!(at(&[(5, f32::INFINITY), (99_000, f32::NAN)])?, [99_000; 2]);
    Ok(())
}

#[test]
fn a_profile_says_which_kernels_took_the_time() -> Result<()> {
    let cpu = Device::from_name("cpu")?;
    let x = Tensor::from_slice_on(&[1.0f32; 64 * 64], &cpu)?.reshape([64, 64])?;
    let product = x.matmul(&x)?.softmax(-1)?;
    let (result, kernels) = wootz::profile_cpu(|| product.eval().map(|_| ()));
    result?;
    for name in ["matmul", "softmax"] {
        let kernel = kernels.iter().find(|k| k.kernel == name).expect(name);
        assert!(kernel.steps > 0 && kernel.seconds > 0.0, "{kernel:?}");
    }
    assert!(kernels.is_sorted_by(|a, b| a.seconds >= b.seconds));
    Ok(())
}

#[test]
fn numbers_stand_on_either_side() -> Result<()> {
    let x = Tensor::from_slice(&[1.0f32, 2.0, 4.0])?;
    assert_eq!((2.0 * &x)?.to_vec::<f32>()?, [2.0, 4.0, 8.0]);
    assert_eq!((8.0 / &x)?.to_vec::<f32>()?, [8.0, 4.0, 2.0]);
    assert_eq!((1 - x.clone())?.to_vec::<f32>()?, [0.0, -1.0, -3.0]);
    assert_eq!((2.0 * &x)?.dtype(), x.dtype());
    let whole = Tensor::from_slice(&[1i32, 2])?;
    assert_eq!((3 * &whole)?.to_vec::<i32>()?, [3, 6]);
    let text = (1i64 << 40) * &whole;
    assert!(text.unwrap_err().to_string().contains("does not fit"));
    Ok(())
}

#[test]
fn from_vec_says_how_many_elements_a_shape_has() {
    let error = Tensor::from_vec(vec![1.0f32; 5], [2, 3]).unwrap_err().to_string();
    assert!(error.contains("from_vec: got 5 elements for shape [2, 3], which has 6"), "{error}");
}

#[test]
fn parameters_of_compiled_functions_take_a_number_with_each_call() -> Result<()> {
    let device = Device::cpu();
    let own = device.clone();
    let scaled = compile(&device, move |x| {
        let rate = Tensor::parameter(0, DType::F32, &own);
        Ok(vec![x[0].mul(&rate)?])
    });
    let x = Tensor::from_slice_on(&[1.0f32, 2.0], &device)?;
    for rate in [2.0, 3.0] {
        let call = scaled.bind_with(&[&x], &[wootz::Number::Float(rate)])?;
        assert_eq!(call.run()?[0].to_vec::<f32>()?, [rate as f32, 2.0 * rate as f32]);
    }
    assert!(scaled.call(&[&x]).is_err_and(|e| e.to_string().contains("parameter 0 has no value")));
    Ok(())
}

#[test]
fn elements_are_written_in_place_only_where_nobody_else_sees_them() -> Result<()> {
    let mut x = Tensor::full_on([2, 3], 0.0, DType::F32, &Device::cpu())?.copied()?;
    x.own_bytes().expect("alone")[20..].copy_from_slice(&5.0f32.to_ne_bytes());
    assert_eq!(x.to_vec::<f32>()?, [0.0, 0.0, 0.0, 0.0, 0.0, 5.0]);
    let view = x.index(&[Index::At(1)])?;
    assert!(x.own_bytes().is_none(), "a view sees them");
    assert_eq!(view.to_vec::<f32>()?, [0.0, 0.0, 5.0]);
    drop(view);
    assert!(x.own_bytes().is_some());
    Ok(())
}

/// Small matrices in memory are multiplied by plain loops, computed ones by packed kernels, in the same order.
#[test]
fn small_products_have_the_bits_of_packed_ones() -> Result<()> {
    for (m, k, n) in [(4, 4, 4), (5, 13, 7), (16, 16, 16)] {
        let x = Tensor::normal_on([6, m, k], 1, DType::F32, &Device::cpu())?;
        let y = Tensor::normal_on([6, k, n], 2, DType::F32, &Device::cpu())?;
        wootz::eval([&x, &y])?;
        let computed = x.mul(1.0)?.matmul(&y)?;
        assert_eq!(x.matmul(&y)?.to_bytes()?, computed.to_bytes()?, "{m}×{k}×{n}");
    }
    Ok(())
}

#[test]
fn rows_of_batch_invariant_functions_do_not_depend_on_their_number() -> Result<()> {
    let device = Device::cpu();
    let weights = Tensor::normal_on([300, 96], 1, DType::F32, &device)?;
    let x = Tensor::normal_on([5, 96], 2, DType::F32, &device)?;
    for weights in [weights.t()?, weights.t()?.copied()?] {
        let layer = compile(&device, move |x| Ok(vec![x[0].matmul(&weights)?])).batch_invariant(true);
        let all = layer.call(&[&x])?[0].to_vec::<f32>()?;
        for row in 0..5 {
            let one = layer.call(&[&x.narrow(0, row, 1)?])?[0].to_vec::<f32>()?;
            assert_eq!(one, all[row * 300..][..300], "row {row}");
        }
    }
    Ok(())
}

#[test]
fn plans_that_are_not_used_are_dropped_first() -> Result<()> {
    let traced = Arc::new(AtomicUsize::new(0));
    let count = traced.clone();
    let double = compile(&Device::cpu(), move |x| {
        count.fetch_add(1, Relaxed);
        Ok(vec![(&x[0] * 2.0)?])
    })
    .keep_plans(3);
    let call = |size: usize| -> Result<usize> {
        let ones = Tensor::full_on([size], 1.0, DType::F32, &Device::cpu())?;
        assert_eq!(double.call(&[&ones])?[0].to_vec::<f32>()?, vec![2.0; size]);
        Ok(traced.load(Relaxed))
    };
    for size in [1, 2, 3, 1] {
        call(size)?;
    }
    assert_eq!(traced.load(Relaxed), 3);
    assert_eq!(call(4)?, 4, "in the place of the second, which was not used for the longest time");
    assert_eq!((call(1)?, call(3)?, call(4)?), (4, 4, 4));
    assert_eq!(call(2)?, 5);
    Ok(())
}
