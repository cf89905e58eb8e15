//! What the bits of a sequence's state depend on.

use crate::model::Model;
use crate::session::SessionOptions;
use sha2::{Digest, Sha256};
use wootz_gguf::Gguf;
use wootz_system::cache;

/// Everything that the bits of a state depend on: the weights, as far as their names, shapes and first and last bytes
/// identify them, the architecture's metadata, the adapters, the device, the options and the version.
pub fn fingerprint(model: &Model, options: SessionOptions) -> String {
    let mut sum = Sha256::new();
    describe(&mut sum, model.gguf(), 256);
    for adapter in model.adapters() {
        sum.update(format!("adapter {:?}\n", adapter.scales()));
        describe(&mut sum, adapter.gguf(), usize::MAX);
    }
    let version = env!("CARGO_PKG_VERSION");
    sum.update(format!(
        "{version} {} {options:?} {:?} {}",
        model.device(),
        model.options(),
        std::env::consts::ARCH
    ));
    cache::hex(&sum.finalize())
}

/// A file's metadata, without that of its tokenizer, since states are of tokens; and its tensors, up to `edge` bytes
/// at both of their ends.
fn describe(sum: &mut Sha256, gguf: &Gguf, edge: usize) {
    for (key, value) in gguf.metadata().iter().filter(|(key, _)| !key.starts_with("tokenizer.")) {
        sum.update(format!("{key} {value:?}\n"));
    }
    for tensor in gguf.tensors() {
        sum.update(format!("{} {:?} {:?}\n", tensor.name, tensor.dims, tensor.format().ok()));
        let data = gguf.data(tensor);
        let edge = data.len().min(edge);
        sum.update(&data[..edge]);
        sum.update(&data[data.len() - edge..]);
    }
}
