//! Model functions beyond a single stream: batches of prompts, log-probabilities, and metadata.

use crate::array::PyArray;
use crate::errors::raise;
use crate::llm::{PyModel, Settings, from_llm, summary};
use crate::run::interruptible;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wootz::Tensor;
use wootz_gguf::Value;
use wootz_llm::{Request, Session};

/// Signals on drop that nobody waits any more.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[pymethods]
impl PyModel {
    /// Continues several token sequences as a batch; returns the [`PyStream::summary`](crate::llm::PyStream) of each.
    /// The n-th sequence uses the settings' seed plus n.
    fn generate_batch<'py>(
        &self,
        py: Python<'py>,
        prompts: Vec<Vec<u32>>,
        settings: Settings,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let mut requests: Vec<Request> = Vec::with_capacity(prompts.len());
        for (i, prompt) in prompts.into_iter().enumerate() {
            if prompt.is_empty() {
                return Err(raise("ArgumentError", format!("generate_batch: prompt {i} has no tokens")));
            }
            let mut request = self.request(prompt, &settings)?;
            request.seed = request.seed.wrapping_add(i as u64);
            requests.push(request);
        }
        let (model, options) = (self.model.clone(), self.options);
        let ended = Arc::new(AtomicBool::new(false));
        let _waiting = Waiting(ended.clone());
        let generated = interruptible(py, move || {
            let sessions: wootz_llm::Result<Vec<Session>> =
                requests.iter().map(|_| Session::new(&model, options)).collect();
            Session::generate_together(&mut sessions?, &requests, |_, _| {
                match ended.load(Ordering::Relaxed) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            })
        })?;
        generated.map_err(from_llm)?.iter().map(|each| summary(py, each)).collect()
    }

    /// The log-probability of each token from `start` on given those before it, and the `top` most likely tokens at
    /// its position, with their log-probabilities.
    fn logprobs(
        &self,
        py: Python<'_>,
        tokens: Vec<u32>,
        start: usize,
        top: usize,
    ) -> PyResult<(PyArray, PyArray, PyArray)> {
        let vocab = self.model.config().vocab;
        let top = top.min(vocab);
        let mut session = self.session()?;
        let home = self.session.clone();
        let scored = interruptible(py, move || {
            let mut scores = Scores::default();
            let run = |session: &mut Session, scores: &mut Scores| -> wootz_llm::Result<()> {
                session.clear()?;
                let mut next = 1;
                session.score(&tokens, |logits| {
                    for row in logits.chunks_exact(vocab) {
                        if next >= start.max(1) && next < tokens.len() {
                            scores.add(row, tokens[next], top);
                        }
                        next += 1;
                    }
                    Ok(())
                })
            };
            let result = run(&mut session, &mut scores);
            *home.lock() = Some(session);
            result.map(|()| scores)
        })?;
        let Scores { chosen, tokens, values } = scored.map_err(from_llm)?;
        let rows = chosen.len();
        let array = crate::array::array;
        Ok((
            array(Tensor::from_vec(chosen, [rows]))?,
            array(Tensor::from_vec(tokens, [rows, top]))?,
            array(Tensor::from_vec(values, [rows, top]))?,
        ))
    }

    /// The file's metadata by key, without the tokenizer's lists.
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        for (key, value) in self.model.gguf().metadata().iter() {
            let vocabulary = key.starts_with("tokenizer.") && matches!(value, Value::Array(_));
            if !vocabulary {
                facts.set_item(key, python_value(py, value)?)?;
            }
        }
        Ok(facts)
    }

    /// The number of parameters.
    #[getter]
    fn parameters(&self) -> u64 {
        self.model.gguf().tensors().iter().map(|tensor| tensor.len()).sum()
    }
}

/// A metadata value as a Python object.
fn python_value(py: Python<'_>, value: Value<'_>) -> PyResult<Py<PyAny>> {
    match value {
        Value::Unsigned(value, _) => value.into_py_any(py),
        Value::Signed(value, _) => value.into_py_any(py),
        Value::Float(value, _) => value.into_py_any(py),
        Value::Bool(value) => value.into_py_any(py),
        Value::String(bytes) => String::from_utf8_lossy(bytes).into_py_any(py),
        Value::Array(array) => {
            let items: PyResult<Vec<Py<PyAny>>> = array.iter().map(|each| python_value(py, each)).collect();
            PyList::new(py, items?)?.into_py_any(py)
        }
    }
}

/// Log-probabilities of consecutive tokens, and of the most likely ones at their positions.
#[derive(Default)]
struct Scores {
    chosen: Vec<f32>,
    tokens: Vec<i32>,
    values: Vec<f32>,
}

impl Scores {
    fn add(&mut self, logits: &[f32], token: u32, top: usize) {
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = logits.iter().map(|&logit| f64::from(logit - largest).exp()).sum();
        let shift = f64::from(largest) + sum.ln();
        let logprob = |logit: f32| (f64::from(logit) - shift) as f32;
        self.chosen.push(logits.get(token as usize).map_or(f32::NAN, |&logit| logprob(logit)));
        if top > 0 {
            let mut order: Vec<usize> = (0..logits.len()).collect();
            let before = |&a: &usize, &b: &usize| logits[b].total_cmp(&logits[a]).then(a.cmp(&b));
            order.select_nth_unstable_by(top - 1, before);
            order.truncate(top);
            order.sort_unstable_by(before);
            self.tokens.extend(order.iter().map(|&i| i as i32));
            self.values.extend(order.iter().map(|&i| logprob(logits[i])));
        }
    }
}
