//! Fuzzes the reader of safetensors files.

use wootz_fuzz::Target;

fn main() {
    let accepts = |bytes: &[u8]| {
        let path = std::env::temp_dir().join(format!("wootz-fuzz-{}.safetensors", std::process::id()));
        std::fs::write(&path, bytes).expect("the temporary folder is writable");
        let accepted = wootz::load_safetensors(&path)
            .is_ok_and(|tensors| tensors.iter().all(|(_, tensor)| tensor.to_bytes().is_ok()));
        let _ = std::fs::remove_file(&path);
        accepted
    };
    let words = &["\"", "{", "}", "[", "]", ":", "\"shape\"", "\"F32\"", "\"data_offsets\"", "18446744073709551615"];
    Target { name: "safetensors", words, accepts }.run();
}
