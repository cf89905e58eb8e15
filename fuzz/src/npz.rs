//! Fuzzes the reader of `.npz` archives.

use wootz::NpzLimits;
use wootz_fuzz::Target;

fn main() {
    let accepts = |bytes: &[u8]| {
        let limits = NpzLimits { unpacked: 1 << 22, ratio: 8 };
        wootz::read_npz(std::io::Cursor::new(bytes), limits)
            .is_ok_and(|tensors| tensors.iter().all(|(_, tensor)| tensor.to_bytes().is_ok()))
    };
    Target { name: "npz", words: &["PK\x03\x04", "PK\x01\x02", "PK\x05\x06"], accepts }.run();
}
