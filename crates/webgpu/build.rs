//! Lists the files of `kernels/` for the shader library: a new kernel file is found by being there.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn files(folder: &Path, list: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files(&path, list)?;
        } else if path.extension().is_some_and(|extension| extension == "wgsl") {
            list.push(path);
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=kernels");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("kernels");
    let mut list = Vec::new();
    files(&root, &mut list)?;
    list.sort();
    let mut text = String::from("&[\n");
    for path in &list {
        let name = path.strip_prefix(&root).expect("it was found there").with_extension("");
        let _ = writeln!(text, "    ({:?}, include_str!({path:?})),", name.display().to_string());
    }
    text.push_str("]\n");
    fs::write(Path::new(&env::var_os("OUT_DIR").expect("cargo sets it")).join("kernels.rs"), text)
}
