//! Arrays on a validated device.
//!
//! A device runs a family of ops only after that family agreed with the reference evaluator on it; `auto` then
//! chooses the device with the lowest estimated time. Narrow integers wrap like NumPy's, views never copy, and
//! reductions take any axes.

use wootz::{DType, Device, Result, Tensor};

fn main() -> Result<()> {
    let device = Device::current()?;
    let proven = device.validation();
    let (cases, passed, failed, _) = proven.totals();
    println!("proof: {passed} of {cases} cases agree with the reference, {failed} fail");
    assert!(proven.is_valid("matmul"), "products are not used on a device where they fail");

    let bytes = Tensor::from_slice(&[250u8, 3, 100])?;
    println!("u8 wraps: {:?}", bytes.add(Tensor::from_slice(&[10u8, 4, 100])?)?.to_vec::<u8>()?);

    let x = Tensor::arange(0, 12, 1, DType::F32)?.reshape([3, 4])?;
    let corner = x.t()?.narrow(0, 1, 2)?; // a view: columns 1 and 2, transposed, nothing moved
    println!("sum over axis 1 of a transposed slice: {:?}", corner.sum_axes([1], false)?.to_vec::<f32>()?);

    let product = x.matmul(&x.t()?)?;
    println!("diagonal of x·xᵀ: {:?}", product.diagonal(0)?.to_vec::<f32>()?);

    // Nothing runs until the value is needed; then it is one fused pass.
    let y = x.neg()?.exp()?.add(1.0)?.reciprocal()?.sqrt()?;
    println!("mean of a chain: {:.6}", y.mean()?.to_f64()?);
    println!("device: {} ({})", device.name(), device.info().description);
    Ok(())
}
