//! Makes metallibs: the container around bitcode that LLVM's assembler makes of text in `tests/air`.

use std::process::{Command, Stdio};

/// A function of a metallib.
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Its kind as the container numbers it; 2 is a kernel.
    pub kind: u8,
    /// Version of AIR.
    pub air: (u16, u16),
    /// Its bitcode.
    pub code: Vec<u8>,
}

impl Entry {
    /// A kernel of AIR 2.7 from LLVM text.
    pub fn kernel(name: &'static str, text: &str) -> Entry {
        Entry { name, kind: 2, air: (2, 7), code: assemble(text) }
    }
}

/// Bitcode of LLVM text; for a target of Apple's it comes in a wrapper, as in Apple's own files.
pub fn assemble(text: &str) -> Vec<u8> {
    let mut child = Command::new("llvm-as-19")
        .args(["-o", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("llvm-as-19 of the Debian package llvm-19");
    let mut input = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, text.as_bytes()).expect("written");
    drop(input);
    let out = child.wait_with_output().expect("it ends");
    assert!(out.status.success(), "the text is no LLVM");
    out.stdout
}

fn tagged(to: &mut Vec<u8>, tag: &[u8; 4], value: &[u8]) {
    to.extend(tag);
    to.extend((value.len() as u16).to_le_bytes());
    to.extend(value);
}

/// The bytes of a metallib.
pub fn metallib(entries: &[Entry]) -> Vec<u8> {
    let (mut list, mut code): (Vec<u8>, Vec<u8>) = Default::default();
    for e in entries {
        let mut record = Vec::new();
        tagged(&mut record, b"NAME", format!("{}\0", e.name).as_bytes());
        tagged(&mut record, b"TYPE", &[e.kind]);
        tagged(&mut record, b"HASH", &[0; 32]);
        let offset = [0u64, 0, code.len() as u64].map(u64::to_le_bytes).concat();
        tagged(&mut record, b"OFFT", &offset);
        tagged(&mut record, b"VERS", &[e.air.0, e.air.1, 3, 2].map(u16::to_le_bytes).concat());
        tagged(&mut record, b"MDSZ", &(e.code.len() as u64).to_le_bytes());
        record.extend(b"ENDT");
        list.extend((record.len() as u32 + 4).to_le_bytes());
        list.extend(record);
        code.extend_from_slice(&e.code);
    }
    let (start, end) = (88u64, 88 + 4 + list.len() as u64);
    let mut file = b"MTLB\x01\x80\x02\x00\x08\x00\x00\x81\x0f\x00\x00\x00".to_vec();
    let total = end + code.len() as u64;
    for word in [total, start, list.len() as u64, end, 0, end, 0, end, code.len() as u64] {
        file.extend(word.to_le_bytes());
    }
    file.extend((entries.len() as u32).to_le_bytes());
    file.extend(list);
    file.extend(code);
    file
}
