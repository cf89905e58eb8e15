//! burn as a peer of `wootz bench`, in f32: on its CPU backend (flex), or with the argument `wgpu` on the GPU, with its
//! fusion and its tuning on.

mod npy;

use burn_tensor::activation::softmax;
use burn_tensor::{Device, DeviceKind, Tensor, TensorData};
use npy::Array;
use peer_protocol::{Prepared, Request, serve};
use std::hint::black_box;

/// Moves an array to a device.
fn tensor<const D: usize>(array: &Array, device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(array.values.clone(), array.shape.clone()), device)
}

/// A function with its inputs on a device, which has finished when this has. Its result lives until then: what is dropped
/// before it was needed is never computed where operations are fused.
fn timed<const D: usize>(
    arrays: &[Array],
    device: &Device,
    function: fn(&[Tensor<D>]) -> Tensor<D>,
) -> Prepared {
    let inputs: Vec<Tensor<D>> = arrays.iter().map(|array| tensor(array, device)).collect();
    let device = device.clone();
    Ok(Some(Box::new(move || {
        let result = black_box(function(&inputs));
        let done = device.sync().map_err(|e| format!("{e:?}"));
        drop(result);
        done
    })))
}

/// A function of vectors.
fn of_vectors(op: &str) -> Option<fn(&[Tensor<1>]) -> Tensor<1>> {
    Some(match op {
        "add" => |t| t[0].clone() + t[1].clone(),
        "exp" => |t| t[0].clone().exp(),
        "sum" => |t| t[0].clone().sum(),
        "sort" => |t| t[0].clone().sort(0),
        "chain" => |t| {
            let (x, y) = (t[0].clone(), t[1].clone());
            let bell = (x.clone() * x.clone() + y.clone() * y.clone()).neg().exp();
            bell * x / (y.abs() + 1.0)
        },
        "ten_ops" => |t| {
            let (x, y) = (t[0].clone(), t[1].clone());
            let a = (((x.clone() + y.clone()) * x.clone() - y.clone()) / 2.0).max_pair(x.clone());
            ((a + 1.0) * y.clone() - x).abs() + y
        },
        "hundred_ops" => |t| {
            let mut x = t[0].clone();
            for _ in 0..50 {
                x = x * 0.5 + t[1].clone();
            }
            x
        },
        _ => return None,
    })
}

/// A function of matrices.
fn of_matrices(op: &str) -> Option<fn(&[Tensor<2>]) -> Tensor<2>> {
    Some(match op {
        "matmul" => |t| t[0].clone().matmul(t[1].clone()),
        "sum_0" => |t| t[0].clone().sum_dim(0),
        "sum_1" => |t| t[0].clone().sum_dim(1),
        "argmax" => |t| t[0].clone().argmax(1).float(),
        "softmax" => |t| softmax(t[0].clone(), 1),
        "rms_norm" => |t| {
            let x = t[0].clone();
            let size = ((x.clone() * x.clone()).mean_dim(1) + 1e-5).sqrt();
            x / size * t[1].clone()
        },
        "layer_norm" => |t| {
            let x = t[0].clone();
            let centred = x.clone() - x.mean_dim(1);
            let size = ((centred.clone() * centred.clone()).mean_dim(1) + 1e-5).sqrt();
            centred / size * t[1].clone() + t[2].clone()
        },
        _ => return None,
    })
}

/// Grouped heads: keys and values are repeated for the heads that share them.
fn attention(t: &[Tensor<4>]) -> Tensor<4> {
    let [b, h, _, d] = t[0].dims();
    let [_, g, s, _] = t[1].dims();
    let repeated =
        |x: &Tensor<4>| x.clone().reshape([b * g, 1, s, d]).repeat_dim(1, h / g).reshape([b, h, s, d]);
    let scores = t[0].clone().matmul(repeated(&t[1]).swap_dims(2, 3)) * (d as f64).powf(-0.5);
    softmax(scores, 3).matmul(repeated(&t[2]))
}

/// Whether the device adds up a vector at all: what skips most of the work must not be timed.
fn check_sum(array: &Array, device: &Device) -> Result<(), String> {
    let sum = tensor::<1>(array, device).sum().into_scalar::<f32>();
    let expected: f64 = array.values.iter().map(|&v| v as f64).sum();
    let scale: f64 = array.values.iter().map(|&v| v.abs() as f64).sum();
    if (sum as f64 - expected).abs() > 1e-4 * scale {
        return Err(format!("its sum of {} numbers is {sum}, not {expected}", array.values.len()));
    }
    Ok(())
}

fn prepare(request: &Request, device: &Device) -> Prepared {
    let op = request.op.as_str();
    if op != "attention" && of_vectors(op).is_none() && of_matrices(op).is_none() {
        return Ok(None);
    }
    let mut arrays = Vec::new();
    for path in &request.inputs {
        match npy::read(path)? {
            Some(array) => arrays.push(array),
            None => return Ok(None),
        }
    }
    if op == "attention" {
        return timed(&arrays, device, attention);
    }
    if op == "sum" {
        check_sum(&arrays[0], device)?;
    }
    if let Some(function) = of_vectors(op) {
        return timed(&arrays, device, function);
    }
    // A vector beside a matrix is a column of a product, or a row that every row is multiplied by.
    for array in &mut arrays {
        if let [n] = array.shape[..] {
            array.shape = if op == "matmul" { vec![n, 1] } else { vec![1, n] };
        }
    }
    match of_matrices(op) {
        Some(function) => timed(&arrays, device, function),
        None => Ok(None),
    }
}

fn main() {
    let (device, version) = match std::env::args().nth(1).as_deref() {
        Some("wgpu") => (Device::wgpu(DeviceKind::DefaultDevice), "burn 0.22, wgpu"),
        _ => (Device::flex(), "burn 0.22, flex"),
    };
    serve(version, |request| prepare(request, &device));
}
