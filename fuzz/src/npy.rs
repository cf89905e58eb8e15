//! Fuzzes the reader of `.npy` files.

use wootz_fuzz::Target;

fn main() {
    Target {
        name: "npy",
        words: &["'", "(", ")", ",", "{", "'descr'", "'shape'", "é4", "<f8", ">i4", "True", "-1", "99999999999999999999"],
        accepts: |bytes| wootz::read_npy(bytes).is_ok_and(|tensor| tensor.to_numbers().is_ok()),
    }
    .run();
}
