//! candle as a peer of `wootz bench`, on the CPU.

use candle_core::quantized::{GgmlDType, QMatMul, QStorage, QTensor};
use candle_core::{D, DType, Device, Module, Result, Tensor};
use peer_protocol::{Prepared, Request, serve};
use std::borrow::Cow;

type Function = fn(&[Tensor]) -> Result<Tensor>;

/// The operations that candle has, by the names that `wootz bench` gives them.
fn function(op: &str) -> Option<Function> {
    Some(match op {
        "add" => |t| t[0].add(&t[1]),
        "exp" => |t| t[0].exp(),
        "cast_f16" => |t| t[0].to_dtype(DType::F16),
        "transpose" => |t| t[0].t()?.contiguous(),
        "sum" => |t| t[0].sum_all(),
        "sum_0" => |t| t[0].sum(0),
        "sum_1" => |t| t[0].sum(1),
        "argmax" => |t| t[0].argmax(D::Minus1),
        "chain" => |t| {
            let (x, y) = (&t[0], &t[1]);
            let bell = ((x * x)? + (y * y)?)?.neg()?.exp()?;
            (bell * x)? / (y.abs()? + 1.0)?
        },
        "softmax" => |t| candle_nn::ops::softmax_last_dim(&t[0]),
        "rms_norm" => |t| candle_nn::ops::rms_norm(&t[0], &t[1], 1e-5),
        "layer_norm" => |t| candle_nn::ops::layer_norm(&t[0], &t[1], &t[2], 1e-5),
        "attention" => attention,
        "sort" => |t| Ok(t[0].sort_last_dim(true)?.0),
        "matmul" => |t| {
            if t[1].rank() == 1 { t[0].matmul(&t[1].unsqueeze(1)?) } else { t[0].matmul(&t[1]) }
        },
        "ten_ops" => |t| {
            let (x, y) = (&t[0], &t[1]);
            let a = ((((x + y)? * x)? - y)? / 2.0)?.maximum(x)?;
            (((a + 1.0)? * y)? - x)?.abs()? + y
        },
        "hundred_ops" => |t| {
            let mut x = t[0].clone();
            for _ in 0..50 {
                x = ((x * 0.5)? + &t[1])?;
            }
            Ok(x)
        },
        _ => return None,
    })
}

/// Grouped heads: keys and values are repeated for the heads that share them.
fn attention(t: &[Tensor]) -> Result<Tensor> {
    let (b, h, _, d) = t[0].dims4()?;
    let (_, g, s, _) = t[1].dims4()?;
    let repeated = |x: &Tensor| x.unsqueeze(2)?.expand((b, g, h / g, s, d))?.reshape((b, h, s, d));
    let (k, v) = (repeated(&t[1])?, repeated(&t[2])?);
    let scores = (t[0].matmul(&k.transpose(2, 3)?)? * (1.0 / (d as f64).sqrt()))?;
    candle_nn::ops::softmax_last_dim(&scores)?.matmul(&v)
}

fn quantised(request: &Request, inputs: &[Tensor]) -> Result<Option<QMatMul>> {
    let dtype = match request.extra["format"].as_str().unwrap_or_default() {
        "Q4_0" => GgmlDType::Q4_0,
        "Q8_0" => GgmlDType::Q8_0,
        "Q4_K" => GgmlDType::Q4K,
        "Q5_K" => GgmlDType::Q5K,
        "Q6_K" => GgmlDType::Q6K,
        _ => return Ok(None),
    };
    let size = |name: &str| request.extra[name].as_u64().unwrap_or(0) as usize;
    let bytes = inputs[1].flatten_all()?.to_vec1::<u8>()?;
    let storage = QStorage::from_data(Cow::Owned(bytes), &Device::Cpu, dtype)?;
    Ok(Some(QMatMul::from_qtensor(QTensor::new(storage, (size("rows"), size("columns")))?)?))
}

fn prepare(request: &Request) -> Result<Option<Box<dyn Fn() -> Result<()>>>> {
    if request.op != "quant_matmul" && function(&request.op).is_none() {
        return Ok(None);
    }
    let inputs: Vec<Tensor> = request.inputs.iter().map(Tensor::read_npy).collect::<Result<_>>()?;
    if request.op == "quant_matmul" {
        let Some(weights) = quantised(request, &inputs)? else { return Ok(None) };
        let x = inputs[0].clone();
        return Ok(Some(Box::new(move || weights.forward(&x).map(|y| drop(std::hint::black_box(y))))));
    }
    let Some(function) = function(&request.op) else { return Ok(None) };
    Ok(Some(Box::new(move || function(&inputs).map(|y| drop(std::hint::black_box(y))))))
}

fn main() {
    serve("candle-core 0.11", |request| -> Prepared {
        let text = |e: candle_core::Error| e.to_string();
        let function = prepare(request).map_err(text)?;
        Ok(function
            .map(|f| Box::new(move || f().map_err(text)) as Box<dyn Fn() -> std::result::Result<(), String>>))
    });
}
