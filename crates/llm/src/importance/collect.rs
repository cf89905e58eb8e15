//! Computing an importance matrix: host kernels in front of the products note what passes through them.

use super::{Entry, Importance};
use crate::error::{Error, Result};
use crate::model::{Model, ModelOptions};
use crate::session::{Session, SessionOptions};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use wootz::{CustomKernel, DType, HostArray, Tensor};
use wootz_gguf::Gguf;

/// Sums of squares by tensor, while a text is read.
#[derive(Default)]
pub struct Collector(Mutex<BTreeMap<String, Sums>>);

#[derive(Default)]
struct Sums {
    /// Matrix after matrix.
    squares: Vec<f64>,
    counts: Vec<u64>,
}

impl Collector {
    /// A kernel that returns its first operand, the inputs of `name`, having noted it. A second operand says which of `matrices` its
    /// rows meet.
    pub(crate) fn observer(self: &Arc<Self>, name: &str, matrices: usize) -> Arc<CustomKernel> {
        let (collector, own) = (self.clone(), name.to_owned());
        Arc::new(CustomKernel::new(format!("importance of {name}")).with_host(move |operands, result| {
            result.copy_from_slice(operands[0].bytes);
            collector.add(&own, matrices, operands);
        }))
    }

    fn add(&self, name: &str, matrices: usize, operands: &[HostArray<'_>]) {
        let x = &operands[0];
        let columns = x.shape.last().copied().unwrap_or(1).max(1);
        let word = |b: &[u8]| [b[0], b[1], b[2], b[3]];
        let rows = x.bytes.chunks_exact(4 * columns);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = all.entry(name.to_owned()).or_default();
        sums.squares.resize(columns * matrices, 0.0);
        sums.counts.resize(matrices, 0);
        let mut note = |matrix: usize, row: &[u8]| {
            sums.counts[matrix] += 1;
            let to = sums.squares[matrix * columns..].iter_mut();
            to.zip(row.chunks_exact(4))
                .for_each(|(sum, b)| *sum += f64::from(f32::from_le_bytes(word(b))).powi(2));
        };
        match operands.get(1) {
            None => rows.for_each(|row| note(0, row)),
            Some(chosen) => {
                let each = chosen.shape.last().copied().unwrap_or(1).max(1);
                for (row, chosen) in rows.zip(chosen.bytes.chunks_exact(4 * each)) {
                    for b in chosen.chunks_exact(4) {
                        let expert = i32::from_le_bytes(word(b));
                        if let Some(expert) = usize::try_from(expert).ok().filter(|&e| e < matrices) {
                            note(expert, row);
                        }
                    }
                }
            }
        }
    }

    fn finish(&self) -> BTreeMap<String, Entry> {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let float = |(name, sums): (String, Sums)| {
            let squares = sums.squares.iter().map(|&v| v as f32).collect();
            let counts = sums.counts.iter().map(|&v| v as f32).collect();
            (name, Entry { sums: squares, counts })
        };
        all.into_iter().map(float).collect()
    }
}

/// The inputs of a product, which `observer` notes on their way.
pub(crate) fn observed(
    observer: Option<&Arc<CustomKernel>>,
    x: &Tensor,
    chosen: Option<&Tensor>,
) -> wootz::Result<Tensor> {
    let Some(observer) = observer else { return Ok(x.clone()) };
    let x = x.cast(DType::F32)?;
    let chosen = chosen.map(|chosen| chosen.cast(DType::I32)).transpose()?;
    let operands: Vec<&Tensor> = [Some(&x), chosen.as_ref()].into_iter().flatten().collect();
    Tensor::custom(observer, &operands, x.shape().clone(), DType::F32)
}

/// What lengths of windows are multiples of.
const STEP: usize = 16;

/// Reads tokens in independent windows with the model of a file, on the CPU. Calls `on_window` after each.
pub fn collect(
    gguf: Gguf,
    tokens: &[u32],
    window: usize,
    dataset: &str,
    on_window: &mut dyn FnMut(),
) -> Result<Importance> {
    let collector = Arc::new(Collector::default());
    let model = Model::observed(gguf, ModelOptions::default(), collector.clone())?;
    let mut session = Session::new(&Arc::new(model), SessionOptions::default())?;
    // Such lengths are read without padding, which would be noted too.
    let window = window.min(session.context()) / STEP * STEP;
    if window == 0 || tokens.len() < window {
        let count = tokens.len();
        return Err(Error::Model(format!(
            "the text has {count} tokens, fewer than a window of {} needs",
            window.max(STEP)
        )));
    }
    for tokens in tokens.chunks_exact(window) {
        session.clear()?;
        session.score(tokens, |_| Ok(()))?;
        on_window();
    }
    let mut entries = collector.finish();
    // As llama.cpp's tool has it: what the layers multiply by, and not the output matrix.
    entries.retain(|name, _| name.starts_with("blk."));
    if entries.values().flat_map(|entry| &entry.sums).any(|sum| !sum.is_finite()) {
        return Err(Error::Model("activations that are not finite; the model is damaged".into()));
    }
    Ok(Importance {
        entries,
        datasets: vec![dataset.to_owned()],
        chunks: (tokens.len() / window) as u32,
        chunk_size: window as u32,
    })
}
