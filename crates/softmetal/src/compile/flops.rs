//! Counts floating-point operations: each basic block of the optimised LLVM text gets one call with its counts.

use std::fmt::Write;

/// The instrumented text.
pub fn instrument(ir: &str) -> String {
    let mut out = String::with_capacity(ir.len() + ir.len() / 8);
    let mut counting = false;
    let (mut single, mut half) = (0u64, 0u64);
    for line in ir.lines() {
        if line.starts_with("define ") {
            // Collectives and matrix products are counted as such, not by their inner arithmetic.
            counting = !line.contains("5metal5_impl")
                && !line.contains("__tsan_")
                && !line.contains("softmetal_flops");
            (single, half) = (0, 0);
        } else if line.starts_with('}') {
            counting = false;
        } else if counting {
            let (s, h) = operations(line);
            single += s;
            half += h;
            if is_terminator(line) && single + half > 0 {
                let _ = writeln!(out, "  call void @softmetal_flops(i32 {single}, i32 {half})");
                (single, half) = (0, 0);
            }
        }
        out.push_str(line);
        out.push('\n');
    }
    // Source brings the counter along; a kernel that Apple compiled finds it in the runtime library.
    if out.contains("call void @softmetal_flops(") && !ir.contains("void @softmetal_flops(") {
        out.push_str("\ndeclare void @softmetal_flops(i32, i32)\n");
    }
    out
}

fn is_terminator(line: &str) -> bool {
    ["  br ", "  ret ", "  switch ", "  unreachable", "  indirectbr "].iter().any(|t| line.starts_with(t))
}

/// Operations of one instruction, in float (or double) and in half.
fn operations(line: &str) -> (u64, u64) {
    let Some((_, instruction)) = line.split_once(" = ") else { return (0, 0) };
    let word = instruction.split(' ').next().unwrap_or("");
    let weight = match word {
        "fadd" | "fsub" | "fmul" | "fdiv" | "frem" => 1,
        "call" | "tail" if instruction.contains("@llvm.fma.") || instruction.contains("@llvm.fmuladd.") => 2,
        "call" | "tail" if is_math_call(instruction) => 1,
        _ => return (0, 0),
    };
    let (lanes, half) = shape(instruction);
    if half { (0, weight * lanes) } else { (weight * lanes, 0) }
}

fn is_math_call(instruction: &str) -> bool {
    const INTRINSICS: &[&str] = &[
        "@llvm.sqrt.",
        "@llvm.exp.",
        "@llvm.exp2.",
        "@llvm.log.",
        "@llvm.log2.",
        "@llvm.log10.",
        "@llvm.sin.",
        "@llvm.cos.",
        "@llvm.pow.",
        "@llvm.tan.",
        "@llvm.maxnum.",
        "@llvm.minnum.",
    ];
    const LIBRARY: &[&str] = &[
        "@expf(", "@logf(", "@tanhf(", "@sinf(", "@cosf(", "@powf(", "@exp2f(", "@log2f(", "@erff(",
        "@atan2f(", "@sinhf(", "@coshf(",
    ];
    INTRINSICS.iter().chain(LIBRARY).any(|n| instruction.contains(n))
}

/// Vector length and whether the element is half.
fn shape(instruction: &str) -> (u64, bool) {
    let lanes = instruction
        .split_once('<')
        .and_then(|(_, r)| r.split_once(" x "))
        .and_then(|(n, _)| n.parse().ok())
        .unwrap_or(1);
    let element =
        instruction.split([' ', '<', '>', '(', ',']).find(|w| matches!(*w, "half" | "float" | "double"));
    (lanes, element == Some("half"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_get_their_sums() {
        let ir = "define void @k() {\n  %1 = fadd contract float %a, %b\n  %2 = fmul <4 x half> %c, %d\n  %3 = tail call float @llvm.fma.f32(float %1, float %1, float %1)\n  br label %x\n\nx:\n  ret void\n}\n";
        let out = instrument(ir);
        assert!(out.contains("call void @softmetal_flops(i32 3, i32 4)\n  br label %x"));
        assert!(out.ends_with("declare void @softmetal_flops(i32, i32)\n"));
        assert_eq!(out.matches("@softmetal_flops").count(), 2);
        // Nothing to declare where nothing is counted, or where the text defines the counter.
        let nothing = "define void @k() {\n  ret void\n}\n";
        assert_eq!(instrument(nothing), nothing);
        let defined = format!("{ir}define hidden void @softmetal_flops(i32 %0, i32 %1) {{\n  ret void\n}}\n");
        assert!(!instrument(&defined).contains("declare"));
    }
}
