//! The bytes of a step's `Args`, described once for host and kernel.

use super::program::param_bits;
use smallvec::SmallVec;
use std::fmt::Write;
use wootz_ir::{DType, Number};

/// Numbers of a launch that its family gives meaning to.
pub const DIMS: usize = 16;

/// `Args` in the making: MSL text of its members, and their values.
#[derive(Clone, Default)]
pub struct ArgsBuilder {
    text: String,
    words: Vec<u64>,
    params: Vec<u16>,
}

/// `Args` with everything but the dims of a launch and the parameters of a run.
#[derive(Clone, Debug, Default)]
pub struct Args {
    words: Vec<u64>,
    /// The plan's parameters that the step uses.
    params: SmallVec<[(u16, DType); 4]>,
    wide: bool,
}

impl ArgsBuilder {
    /// A member array of index words.
    pub fn array(&mut self, name: &str, values: &[u64]) {
        let _ = writeln!(self.text, "    index_t {name}[{}];", values.len().max(1));
        self.words.extend(values);
        if values.is_empty() {
            self.words.push(0);
        }
    }

    /// A member word.
    pub fn word(&mut self, name: &str, value: u64) {
        let _ = writeln!(self.text, "    index_t {name};");
        self.words.push(value);
    }

    /// The place of a plan's parameter among the step's.
    pub fn param(&mut self, plan_index: u16) -> usize {
        self.params.iter().position(|&p| p == plan_index).unwrap_or_else(|| {
            self.params.push(plan_index);
            self.params.len() - 1
        })
    }

    /// The struct's text, and its values.
    pub fn finish(self, wide: bool, dtypes: &[DType]) -> (String, Args) {
        let mut text = String::from("struct Args {\n");
        if !self.params.is_empty() {
            let _ = writeln!(text, "    ulong params[{}];", self.params.len());
        }
        let _ = writeln!(text, "    index_t dims[{DIMS}];");
        text.push_str(&self.text);
        text.push_str("};\n");
        let params = self.params.into_iter().map(|p| (p, dtypes[p as usize])).collect();
        (text, Args { words: self.words, params, wide })
    }
}

impl Args {
    /// The bytes for one launch of one run.
    pub fn bytes(&self, dims: &[u64], params: &[Number]) -> SmallVec<[u8; 512]> {
        let mut bytes = SmallVec::new();
        for &(index, dtype) in &self.params {
            bytes.extend_from_slice(&param_bits(params[index as usize], dtype.compute()).to_ne_bytes());
        }
        let padded = dims.iter().copied().chain(std::iter::repeat_n(0, DIMS - dims.len()));
        for word in padded.chain(self.words.iter().copied()) {
            if self.wide {
                bytes.extend_from_slice(&word.to_ne_bytes());
            } else {
                bytes.extend_from_slice(&(word as u32).to_ne_bytes());
            }
        }
        // Structs with 64-bit members are as long as a multiple of eight.
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }
}
