//! Unquantised floats as blocks of one value, so that all formats share one set of functions.

use half::{bf16, f16};

use crate::block::Block;

impl Block for f32 {
    const LEN: usize = 1;
    fn decode(&self, out: &mut [f32]) {
        out[0] = *self;
    }
    fn encode(x: &[f32], _importance: Option<&[f32]>) -> Self {
        x[0]
    }
}

impl Block for f16 {
    const LEN: usize = 1;
    fn decode(&self, out: &mut [f32]) {
        out[0] = self.to_f32();
    }
    fn encode(x: &[f32], _importance: Option<&[f32]>) -> Self {
        f16::from_f32(x[0])
    }
}

impl Block for bf16 {
    const LEN: usize = 1;
    fn decode(&self, out: &mut [f32]) {
        out[0] = self.to_f32();
    }
    fn encode(x: &[f32], _importance: Option<&[f32]>) -> Self {
        bf16::from_f32(x[0])
    }
}
