//! Runs conformance cases straight on the backend, without the tensor library: `cases [--full] [TEXT]` runs those whose
//! name contains the text and prints what fails; `cases --graphs [N]` runs the first random graphs.

use std::collections::BTreeMap;
use std::sync::Arc;
use wootz_backend::{Backend, Buffer, Run};
use wootz_ir::graph::{Leaf, Node, NodeRef, Trace};
use wootz_ir::reference::HostTensor;
use wootz_ir::{Error, Result};
use wootz_plan::{Output, Place, Plan};
use wootz_testkit::exceptions::{EXCEPTIONS, Ledger, Verdict};
use wootz_testkit::{Build, Level, Mismatch, cases, compare, decode, expected_faults, random_graph};
use wootz_webgpu::WebGpuBackend;

fn run(backend: &WebGpuBackend, leaves: &[wootz_testkit::Leaf], build: &Build) -> Result<HostTensor> {
    Ok(evaluate(backend, leaves, |nodes| Ok(vec![build(nodes)?]))?.remove(0))
}

fn evaluate(
    backend: &WebGpuBackend,
    leaves: &[wootz_testkit::Leaf],
    build: impl Fn(&[NodeRef]) -> Result<Vec<NodeRef>>,
) -> Result<Vec<HostTensor>> {
    let mut nodes: Vec<NodeRef> = Vec::new();
    for leaf in leaves {
        let bytes = leaf.bytes();
        let buffer = backend.allocate(bytes.len())?;
        backend.upload(&buffer, 0, &bytes)?;
        let payload = Arc::new(buffer);
        nodes.push(Node::leaf(
            Leaf { layout: leaf.layout.clone(), donated: leaf.donated, payload },
            leaf.dtype(),
        ));
    }
    let trace = Trace::of(&build(&nodes)?);
    for node in &trace.graph.nodes {
        if let Some(reason) = backend.refuses(node.dtype) {
            return Err(Error::Unsupported {
                op: node.op.name().into(),
                dtype: node.dtype,
                device: "webgpu".into(),
                reason: reason.into(),
            });
        }
    }
    let plan = Arc::new(Plan::new(&trace.graph, &backend.capabilities()));
    let executable = backend.compile(plan.clone())?;
    let leaves: Vec<Buffer> = trace
        .leaves
        .iter()
        .map(|l| l.payload.downcast_ref::<Buffer>().expect("the leaves made above").clone())
        .collect();
    let results = backend.submit(&executable, Run { leaves: &leaves, params: &trace.constants })?.wait()?;
    let fetch = |output: &Output| {
        let buffer = &plan.buffers[output.buffer as usize];
        let memory = match buffer.place {
            Place::Leaf(i) => &leaves[i],
            Place::Result(i) => &results[i],
            Place::Scratch(_) => unreachable!("outputs are leaves or results"),
        };
        let mut bytes = vec![0; memory.len()];
        backend.download(memory, 0, &mut bytes)?;
        let size = buffer.dtype.size();
        let elements = output.layout.positions().map(|p| &bytes[p * size..(p + 1) * size]);
        Ok(decode(&output.layout.shape, buffer.dtype, &elements.collect::<Vec<_>>().concat()))
    };
    plan.outputs.iter().map(fetch).collect()
}

/// Random graphs against the reference.
fn graphs(backend: &WebGpuBackend, count: u64) -> Result<()> {
    let begin = std::time::Instant::now();
    let mut wrong = 0;
    for seed in 0..count {
        let graph = random_graph(seed, [40, 120, 400][seed as usize % 3]);
        let got = evaluate(backend, &graph.leaves, |nodes| graph.build(nodes))?;
        for (i, (want, got)) in graph.expected()?.iter().zip(&got).enumerate() {
            if let Err(e) = compare(want, got, &graph.tolerance(want.dtype)) {
                println!("seed {seed}, output {i}: {e}");
                wrong += 1;
            }
        }
    }
    let time = begin.elapsed().as_secs_f64();
    println!("{count} graphs, {wrong} wrong outputs; {} pipelines, {time:.1} s", backend.pipelines());
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let full = arguments.iter().position(|a| a == "--full").map(|i| arguments.remove(i)).is_some();
    if let Some(count) = arguments.strip_prefix(&["--graphs".to_string()]) {
        let count = count.first().and_then(|n| n.parse().ok()).unwrap_or(200);
        return graphs(&WebGpuBackend::new()?, count);
    }
    let text = arguments.first().cloned().unwrap_or_default();
    let backend = WebGpuBackend::new()?;
    println!("{}: {:?}", backend.info().description, backend.info().facts);
    let mut ledger = Ledger::new("webgpu", EXCEPTIONS);
    let (mut passed, mut excused) = (0, 0);
    let mut failed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let begin = std::time::Instant::now();
    let list = cases(if full { Level::Full } else { Level::Quick });
    for case in list.iter().filter(|c| c.name.contains(&text)) {
        let result = match run(&backend, &case.leaves, &case.build) {
            Ok(got) => case.check(&got),
            Err(error) => Err(Mismatch::Failed(error.to_string())),
        };
        let detail = result.as_ref().err().map(ToString::to_string).unwrap_or_default();
        match ledger.judge(case, result) {
            Verdict::Passed => passed += 1,
            Verdict::Excused(_) => excused += 1,
            Verdict::Failed(_) => {
                let key = format!("{}/{}/{}", case.family, case.op, case.dtype);
                failed.entry(key).or_default().push(format!("{}: {detail}", case.name));
            }
        }
    }
    for case in expected_faults().iter().filter(|c| c.name.contains(&text)) {
        match run(&backend, &case.leaves, &case.build) {
            Err(Error::Fault { fault, .. }) if fault == case.fault => passed += 1,
            other => {
                let detail = format!("{}: {:?}", case.name, other.err().map(|e| e.to_string()));
                failed.entry(format!("fault/{}", case.family)).or_default().push(detail);
            }
        }
    }
    for (key, list) in &failed {
        println!("{key}: {} failed", list.len());
        for line in list.iter().take(2) {
            println!("    {}", line.chars().take(700).collect::<String>());
        }
    }
    let count: usize = failed.values().map(Vec::len).sum();
    let time = begin.elapsed().as_secs_f64();
    println!(
        "{passed} passed, {excused} excused, {count} failed; {} pipelines, {time:.1} s",
        backend.pipelines()
    );
    Ok(())
}
