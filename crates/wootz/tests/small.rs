//! A few elementwise ops over few elements are computed without a plan, and nobody can tell but by the time.

use wootz::{DType, Device, Index, Result, Tensor, Tiny, eval};
use wootz_ir::ElementwiseOp;

fn cpu(values: &[f32]) -> Result<Tensor> {
    Tensor::from_slice_on(values, &Device::cpu())
}

#[test]
fn small_graphs_stay_lazy_until_a_value_is_asked_for() -> Result<()> {
    let x = cpu(&[1.0, 2.0, 3.0])?;
    let y = x.add(1.0)?.mul(&x)?;
    assert!(!y.is_evaluated());
    assert!(y.explain()?.starts_with("on cpu"), "there is a plan to look at");
    y.eval()?;
    assert!(y.is_evaluated() && y.is_ready());
    assert_eq!(y.to_vec::<f32>()?, [2.0, 6.0, 12.0]);
    Ok(())
}

#[test]
fn they_give_the_bits_of_a_plan() -> Result<()> {
    // Two tensors at once are planned together.
    for n in [1, 15, 16, 17, 1000, 1024] {
        let values: Vec<f32> = (0..n).map(|i| (i as f32 - 7.3) * 0.37).collect();
        let x = cpu(&values)?;
        let build = || -> Result<Tensor> {
            let half = x.sigmoid()?.mul(0.5)?;
            x.greater(0.25)?.where_(half.add(&x.gelu()?)?, x.abs()?.log1p()?)
        };
        let (alone, planned, beside) = (build()?, build()?, x.sum()?);
        alone.eval()?;
        eval([&planned, &beside])?;
        assert_eq!(alone.to_bytes()?, planned.to_bytes()?, "{n}");
        let integers = x.cast(DType::I32)?;
        assert_eq!(integers.to_vec::<i32>()?, values.iter().map(|&v| v as i32).collect::<Vec<_>>());
    }
    Ok(())
}

#[test]
fn faults_are_reported_as_plans_report_them() -> Result<()> {
    let x = Tensor::from_slice_on(&[1i32, 2], &Device::cpu())?;
    let zero = Tensor::from_slice_on(&[1i32, 0], &Device::cpu())?;
    let quotient = x.floor_divide(&zero)?;
    let Err(error) = quotient.eval() else { panic!("a division by zero") };
    assert!(error.to_string().contains("floor_divide"), "{error}");
    assert!(!quotient.is_evaluated());
    // The next evaluation knows nothing of it.
    assert_eq!(x.floor_divide(2)?.to_vec::<i32>()?, [0, 1]);
    Ok(())
}

#[test]
fn rows_and_elements_are_views_and_can_be_written_in_place() -> Result<()> {
    let mut x = cpu(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?.reshape([3, 2])?.copied()?;
    assert_eq!(x.row(-1)?.to_vec::<f32>()?, [4.0, 5.0]);
    assert_eq!(x.row(1)?.row(0)?.item()?.to_f64(), 2.0);
    assert!(x.row(3).is_err() && x.row(-4).is_err());
    assert!(x.add(1.0)?.row(1)?.to_vec::<f32>()? == [3.0, 4.0], "of what is lazy, too");
    let kept = x.index(&[Index::At(0)])?;
    assert!(x.own_bytes().is_none(), "somebody else sees the value");
    drop(kept);
    let bytes = x.own_bytes().expect("nobody else sees the value");
    bytes[..8].copy_from_slice(bytemuck::cast_slice(&[9.0f32, 8.0]));
    let mut part = [0; 8];
    assert!(x.copy_part(1, &mut part));
    assert_eq!(part, bytemuck::cast::<[f32; 2], [u8; 8]>([8.0, 2.0]));
    assert!(!x.copy_part(5, &mut part), "more than there is");
    assert_eq!(x.to_vec::<f32>()?, [9.0, 8.0, 2.0, 3.0, 4.0, 5.0]);
    Ok(())
}

#[test]
fn each_run_is_counted() -> Result<()> {
    let device = Device::from_backend(std::sync::Arc::new(wootz_cpu::CpuBackend::new()));
    let x = Tensor::from_slice_on(&[1.0f32, 2.0], &device)?;
    let before = device.traffic_stats();
    x.add(1.0)?.eval()?;
    assert_eq!((device.traffic_stats() - before).submits, 1);
    Ok(())
}

#[test]
fn tiny_values_have_the_bits_of_a_plan() -> Result<()> {
    let values = [f32::NAN, -0.0, 0.0, 1.5, f32::INFINITY, -3e38, 1e-40, 7.25];
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I64, DType::U32, DType::U64] {
        let a = cpu(&values)?.cast(dtype)?.copied()?;
        let b = cpu(&values)?.flip([0])?.cast(dtype)?.copied()?;
        for op in [ElementwiseOp::Add, ElementwiseOp::Sub, ElementwiseOp::Mul, ElementwiseOp::Div] {
            let Some(tiny) = Tiny::binary(op, &a, &b) else {
                assert!(op == ElementwiseOp::Div && !dtype.is_float(), "{op:?} {dtype}");
                continue;
            };
            let (planned, beside) = (Tensor::elementwise(op, &[&a, &b])?, a.sum()?);
            eval([&planned, &beside])?;
            assert_eq!(tiny.tensor().to_bytes()?, planned.to_bytes()?, "{op:?} {dtype}");
            assert_eq!(tiny.tensor().shape(), planned.shape());
            let now = Tensor::binary_now(op, &a, &b).expect("what is tiny is small");
            assert_eq!(now.to_bytes()?, planned.to_bytes()?, "{op:?} {dtype}");
        }
    }
    Ok(())
}

#[test]
fn only_available_values_of_the_cpu_are_tiny() -> Result<()> {
    let x = cpu(&[1.0, 2.0, 3.0])?;
    let lazy = x.add(1.0)?;
    assert!(Tiny::binary(ElementwiseOp::Add, &x, &lazy).is_none(), "not computed");
    assert!(!Tiny::takes(ElementwiseOp::Add, &x, &cpu(&[1.0])?), "another shape");
    assert!(!Tiny::takes(ElementwiseOp::FloorDivide, &x, &x), "it may fault");
    let (long, square) = (cpu(&[0.5; 17])?, x.reshape([3, 1])?.copied()?);
    assert!(Tiny::binary(ElementwiseOp::Add, &long, &long).is_none());
    assert!(Tiny::binary(ElementwiseOp::Add, &square, &square).is_none());
    let sums = [&long, &square].map(|t| Tensor::binary_now(ElementwiseOp::Add, t, t).expect("small"));
    assert_eq!(sums[0].to_vec::<f32>()?, [1.0; 17]);
    assert_eq!((sums[1].shape().to_vec(), sums[1].to_vec::<f32>()?), (vec![3, 1], vec![2.0, 4.0, 6.0]));
    assert!(!wootz::is_small(&cpu(&[0.0; 1025])?));
    let at = |i| Tiny::element(&x, i).and_then(|element| element.number()).map(|n| n.to_f64());
    assert_eq!([at(0), at(-1), at(3), at(-4)], [Some(1.0), Some(3.0), None, None]);
    assert!(Tiny::element(&lazy, 0).is_none() && Tiny::element(&x.reshape([3, 1])?, 0).is_none());
    Ok(())
}
