//! Plans as text and as Graphviz graphs.

use crate::kernel::Kernel;
use crate::plan::{BufferId, Place, Plan, Step};
use std::fmt::Write;

impl Plan {
    /// The plan in readable form: each step with its fused ops, shapes and bytes, then the totals.
    pub fn explain(&self) -> String {
        let mut text = String::new();
        let width = self.steps.iter().map(|s| s.label.chars().count()).max().unwrap_or(0).min(48);
        for (i, step) in self.steps.iter().enumerate() {
            let mark = if step.barrier { "|" } else { " " };
            let reads: Vec<String> = step.reads().map(|id| self.buffer_name(id)).collect();
            let writes: Vec<String> = step.writes().map(|id| self.buffer_name(id)).collect();
            let kernel = match &step.kernel {
                Kernel::Matmul { batch, m, n, k } => format!("matmul {batch}×({m}×{k}·{k}×{n})"),
                Kernel::Custom(kernel) => kernel.name().to_string(),
                other => other.name().to_string(),
            };
            let _ = writeln!(
                text,
                "{i:>4}{mark} {kernel:<12} {:<width$}  {}{}  {} ← {}  {}",
                step.label,
                step.stores[0].dtype,
                step.shape,
                writes.join(", "),
                if reads.is_empty() { "nothing".to_string() } else { reads.join(", ") },
                bytes(self.step_bytes(step)),
            );
        }
        let _ = writeln!(
            text,
            "{} graph nodes → {} steps, {} barriers; scratch {} ({} without reuse), results {}",
            self.graph_nodes,
            self.steps.len(),
            self.steps.iter().filter(|s| s.barrier).count(),
            bytes(self.scratch),
            bytes(self.scratch_without_reuse),
            bytes(self.results.iter().sum()),
        );
        text
    }

    /// The plan as a Graphviz document: boxes are steps, ellipses are leaves and results.
    pub fn to_dot(&self) -> String {
        let mut text = String::from("digraph plan {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n");
        let mut writer: Vec<Option<usize>> = vec![None; self.buffers.len()];
        for (i, step) in self.steps.iter().enumerate() {
            let label = step.label.replace('"', "'");
            let _ = writeln!(
                text,
                "  s{i} [shape=box, label=\"{label}\\n{} {}{}\"];",
                step.kernel.name(),
                step.stores[0].dtype,
                step.shape
            );
            for id in step.reads() {
                let from = match writer[id as usize] {
                    Some(step) => format!("s{step}"),
                    None => format!("\"{}\"", self.buffer_name(id)),
                };
                let size = bytes(self.buffers[id as usize].bytes);
                let _ = writeln!(text, "  {from} -> s{i} [label=\"{size}\"];");
            }
            step.writes().for_each(|id| writer[id as usize] = Some(i));
        }
        for (i, output) in self.outputs.iter().enumerate() {
            let from = match writer[output.buffer as usize] {
                Some(step) => format!("s{step}"),
                None => format!("\"{}\"", self.buffer_name(output.buffer)),
            };
            let _ = writeln!(text, "  {from} -> \"output {i} {}\";", output.layout.shape);
        }
        text.push_str("}\n");
        text
    }

    /// Bytes moved by a step: each distinct element that it reads or writes, counted once.
    pub fn step_bytes(&self, step: &Step) -> usize {
        let fused = step.inputs.iter().chain([&step.epilogue]);
        let loads = fused.flat_map(|f| &f.loads).filter(|l| matches!(l.source, crate::Source::Buffer(_)));
        let read: usize = loads.map(|l| distinct(&l.layout) * l.dtype.size()).sum();
        let written: usize = step.stores.iter().map(|s| distinct(&s.layout) * s.dtype.size()).sum();
        read + written
    }

    fn buffer_name(&self, id: BufferId) -> String {
        match self.buffers[id as usize].place {
            Place::Leaf(i) => format!("leaf {i}"),
            Place::Result(i) => format!("result {i}"),
            Place::Scratch(offset) => format!("scratch @{offset}"),
        }
    }
}

/// The number of distinct elements that a layout reaches, counting broadcast axes once.
fn distinct(layout: &wootz_ir::Layout) -> usize {
    layout.shape.iter().zip(&layout.strides).map(|(&d, &s)| if s == 0 { d.min(1) } else { d }).product()
}

fn bytes(n: usize) -> String {
    match n {
        0..1024 => format!("{n} B"),
        1024..1_048_576 => format!("{:.1} KiB", n as f64 / 1024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", n as f64 / 1_048_576.0),
        _ => format!("{:.2} GiB", n as f64 / 1_073_741_824.0),
    }
}
