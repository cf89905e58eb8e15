//! Makes the module smaller where the linker can: identical functions, of which generic code has many, are kept once.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    let target = |part: &str| var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    // The compiler brings LLD for this target. Whoever names another linker gets no option that it might not know.
    let brings_lld = target("OS") == "linux" && target("ARCH") == "x86_64" && target("ENV") == "gnu";
    let own_linker = ["CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER"]
        .iter()
        .any(|name| var(name).is_ok_and(|value| value.contains("ld") || value.contains("linker")));
    if brings_lld && !own_linker {
        println!("cargo::rustc-link-arg-cdylib=-Wl,--icf=all");
    }
}
