//! Files of arrays.

use crate::{Target, scratch};
use wootz::NpzLimits;

pub const NPY: Target = Target {
    name: "npy",
    words: &[
        "'",
        "(",
        ")",
        ",",
        "{",
        "'descr'",
        "'shape'",
        "é4",
        "<f8",
        ">i4",
        "True",
        "-1",
        "99999999999999999999",
    ],
    accepts: |bytes| wootz::read_npy(bytes).is_ok_and(|tensor| tensor.to_numbers().is_ok()),
};

pub const NPZ: Target = Target {
    name: "npz",
    words: &["PK\x03\x04", "PK\x01\x02", "PK\x05\x06"],
    accepts: |bytes| {
        let limits = NpzLimits { unpacked: 1 << 22, ratio: 8 };
        wootz::read_npz(std::io::Cursor::new(bytes), limits)
            .is_ok_and(|tensors| tensors.iter().all(|(_, tensor)| tensor.to_bytes().is_ok()))
    },
};

pub const SAFETENSORS: Target = Target {
    name: "safetensors",
    words: &[
        "\"",
        "{",
        "}",
        "[",
        "]",
        ":",
        "\"shape\"",
        "\"F32\"",
        "\"data_offsets\"",
        "18446744073709551615",
    ],
    accepts: |bytes| {
        // Replaced by renaming: tensors of the last input may still be mapped.
        let (path, beside) = (scratch("array.safetensors"), scratch("array.part"));
        std::fs::write(&beside, bytes).expect("the temporary folder is writable");
        std::fs::rename(&beside, &path).expect("the temporary folder is writable");
        wootz::load_safetensors(&path)
            .is_ok_and(|tensors| tensors.iter().all(|(_, tensor)| tensor.to_bytes().is_ok()))
    },
};
