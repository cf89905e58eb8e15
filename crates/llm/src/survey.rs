//! What a file lacks: its network is built without running it, and every tensor that is not as it should be is noted.

use crate::config::Config;
use crate::error::{Error, Result};
use crate::models;
use crate::weights::Weights;
use memmap2::MmapMut;
use std::sync::{Arc, Mutex, PoisonError};
use wootz::{Activations, BlockFormat, Device, HostMemory};
use wootz_gguf::Gguf;

/// A list of problems.
#[derive(Default)]
pub(crate) struct Survey(Mutex<Vec<String>>);

impl Survey {
    fn add(&self, error: &Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(error.to_string());
    }

    /// Notes why a tensor cannot be used, and returns zeros of its shape, which take no memory until they are touched.
    pub fn note(&self, error: Error, shape: &[usize]) -> Result<(HostMemory, BlockFormat)> {
        let bytes = BlockFormat::F32.bytes_of(shape.iter().product());
        let zeros = bytes.and_then(|bytes| MmapMut::map_anon(bytes).ok());
        let Some(zeros) = zeros else { return Err(error) };
        self.add(&error);
        Ok((HostMemory::new(zeros), BlockFormat::F32))
    }
}

/// The tensors that a file lacks, or has in shapes that contradict its metadata: one line each. Empty if the model can be
/// loaded.
pub fn missing_tensors(gguf: &Arc<Gguf>) -> Result<Vec<String>> {
    let config = Config::from_gguf(gguf)?;
    let survey = Arc::new(Survey::default());
    let weights = Weights::new(gguf.clone(), &Device::cpu(), Activations::Precise).surveyed(&survey);
    let built = match config.family.is_encoder() {
        true => models::load_encoder(&config, &weights).map(drop),
        false => models::load(&config, &weights).map(drop),
    };
    if let Err(error) = built {
        survey.add(&error);
    }
    drop(weights);
    let mut list = std::mem::take(&mut *survey.0.lock().unwrap_or_else(PoisonError::into_inner));
    // Tied tensors are loaded more than once.
    let mut seen = std::collections::HashSet::new();
    list.retain(|problem| seen.insert(problem.clone()));
    Ok(list)
}
