//! objc2 with its GNUstep feature links libobjc and libgnustep-base, and dispatch2 links libdispatch. This crate has what
//! programs for Metal use of them, so that empty archives do.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let Ok(folder) = std::env::var("OUT_DIR") else { return };
    for name in ["objc", "gnustep-base", "dispatch"] {
        let path = format!("{folder}/lib{name}.a");
        if let Err(e) = std::fs::write(&path, "!<arch>\n") {
            println!("cargo::error={path}: {e}");
        }
    }
    println!("cargo::rustc-link-search=native={folder}");
}
