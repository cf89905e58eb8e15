//! Memory shared by host and device: used in place, written by the device, read by the host, never stale.
//!
//! Each buffer has one owner. The host always reads what the device has written, because reading waits for the work;
//! there is no dirty flag to forget.

use std::sync::Arc;
use wootz::{DType, Device, HostMemory, Layout, Result, Shape, Tensor};

/// Host memory with a second handle.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn main() -> Result<()> {
    let device = Device::current()?;
    let bytes: Vec<u8> = (0..1024u32).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let owner = Arc::new(bytes);

    // The device reads the host's memory in place if it can; its handles are counted.
    let before = device.memory().misses;
    let memory = HostMemory::new(Shared(owner.clone()));
    let x = Tensor::from_host_on(memory, DType::F32, Layout::contiguous(&Shape::from([1024])), &device)?;
    println!("handles on the host's memory: {}", Arc::strong_count(&owner));
    println!("allocations for it: {}", device.memory().misses - before);
    println!("sum on the device: {}", x.sum()?.to_f64()?);

    // A device buffer, written in place four times; the host sees each write.
    let mut buffer = Tensor::full_on([8], 0.0, DType::F32, &device)?.copied()?.donate()?;
    let mut seen = Vec::new();
    for i in 0..4 {
        let at = Tensor::from_slice_on(&[i], &device)?;
        let value = x.narrow(0, 10 * i as usize, 1)?;
        let written = buffer.write_at(&value, &at, 0)?;
        written.eval()?;
        seen.push(written.to_vec::<f32>()?[i as usize]);
        buffer = written.donate()?;
    }
    println!("host reads what the device wrote: {seen:?}");
    println!("at the end: {:?}", buffer.to_vec::<f32>()?);

    // Once it is unused, the host has its memory back.
    drop(x);
    device.trim();
    println!("handles after: {}", Arc::strong_count(&owner));
    println!("device: {} ({})", device.name(), device.info().description);
    Ok(())
}
