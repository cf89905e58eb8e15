//! Out-of-bounds texel accesses.

use super::access::{GroupCheck, Verdict, verb};
use super::report::ReportKind;
use crate::exec::abi::{Lane, TextureInfo};

impl GroupCheck {
    /// A texel that its texture does not have.
    pub fn texel(
        &mut self,
        lane: &Lane,
        info: Option<&TextureInfo>,
        [x, y, z, level]: [u32; 4],
        kind: u32,
        pc: usize,
    ) -> Verdict {
        let verb = verb(kind);
        let message = match info {
            None => format!("{verb} of a texture that is not bound"),
            Some(t) if level >= t.levels => {
                format!("{verb} of level {level} of a texture that has {} levels", t.levels)
            }
            Some(t) => {
                let address = Some(std::ptr::from_ref(t) as usize);
                let bound = self.dispatch.bound.iter().find(|b| b.range.texture == address);
                let name = bound.map_or("a texture".to_string(), |b| b.range.to_string());
                let [w, h, d] = [t.width, t.height, t.depth].map(|n| (n >> level).max(1));
                let images = if t.depth > 1 { d } else { t.slices };
                format!("{verb} of texel ({x}, {y}, {z}) of {name}, which has {w} x {h} x {images} texels")
            }
        };
        if self.dispatch.report(pc, self.finding(ReportKind::OutOfBounds, message, lane, None, None)) {
            Verdict::Stop
        } else {
            Verdict::Fine
        }
    }
}
