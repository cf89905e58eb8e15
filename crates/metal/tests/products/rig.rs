//! A device and what it takes to run one graph on it.

use softmetal::Family;
use softmetal::profile::DispatchProfile;
use std::sync::Arc;
use wootz_backend::{Backend, Run};
use wootz_ir::graph::{Leaf as GraphLeaf, Node, NodeRef, Trace};
use wootz_ir::reference::HostTensor;
use wootz_ir::{DType, Layout, Number, Result, Shape};
use wootz_metal::{MetalBackend, SoftOptions};
use wootz_plan::{Place, Plan};
use wootz_testkit::{Leaf, decode};

/// A Metal device in software.
pub struct Rig {
    pub backend: MetalBackend,
}

impl Rig {
    /// An M1, with every access checked and threads in another order than usual.
    pub fn checked() -> Rig {
        Rig::new(SoftOptions { sanitize: true, shuffle: Some(7), ..SoftOptions::default() })
    }

    /// A GPU of Intel Macs: no simdgroup matrices, and 64 lanes.
    pub fn mac() -> Rig {
        Rig::new(SoftOptions {
            family: Some(Family::Mac2),
            simd_width: Some(64),
            sanitize: true,
            ..SoftOptions::default()
        })
    }

    /// An M1 that counts.
    pub fn counting() -> Rig {
        Rig::new(SoftOptions { profile: true, ..SoftOptions::default() })
    }

    pub fn new(options: SoftOptions) -> Rig {
        Rig { backend: MetalBackend::soft(options) }
    }

    /// A case's leaf in this device's memory.
    pub fn bind(&self, leaf: &Leaf) -> NodeRef {
        self.place(&leaf.bytes(), leaf.layout.clone(), leaf.dtype())
    }

    /// Bytes in this device's memory, as a leaf.
    pub fn place(&self, bytes: &[u8], layout: Layout, dtype: DType) -> NodeRef {
        let buffer = self.backend.allocate(bytes.len()).unwrap();
        self.backend.upload(&buffer, 0, bytes).unwrap();
        Node::leaf(GraphLeaf { layout, donated: false, payload: Arc::new(buffer) }, dtype)
    }

    /// Floats in row-major order, as a leaf of a dtype.
    pub fn floats(&self, values: &[f32], shape: impl Into<Shape>, dtype: DType) -> NodeRef {
        let shape = shape.into();
        let numbers: Vec<Number> = values.iter().map(|&v| Number::Float(v.into()).cast(dtype)).collect();
        self.place(&wootz_testkit::encode(dtype, &numbers), Layout::contiguous(&shape), dtype)
    }

    /// Runs a graph with one output.
    pub fn run(&self, node: &NodeRef) -> Result<HostTensor> {
        let trace = Trace::of(std::slice::from_ref(node));
        let plan = Arc::new(Plan::new(&trace.graph, &self.backend.capabilities()));
        let executable = self.backend.compile(plan)?;
        let leaves: Vec<_> = trace
            .leaves
            .iter()
            .map(|leaf| leaf.payload.downcast_ref::<wootz_backend::Buffer>().unwrap().clone())
            .collect();
        let fence = self.backend.submit(&executable, Run { leaves: &leaves, params: &trace.constants })?;
        let results = fence.wait()?;
        let output = &executable.plan().outputs[0];
        assert_eq!(output.layout, Layout::contiguous(node.shape()), "results of products are contiguous");
        let Place::Result(at) = executable.plan().buffers[output.buffer as usize].place else {
            panic!("the output is no result");
        };
        let mut bytes = vec![0; node.shape().count() * node.dtype().size()];
        self.backend.download(&results[at], 0, &mut bytes)?;
        Ok(decode(node.shape(), node.dtype(), &bytes))
    }

    /// Runs a graph and tells what its launches did.
    pub fn profiles(&self, node: &NodeRef) -> Vec<DispatchProfile> {
        self.run(node).unwrap();
        self.backend.last_run().profiles
    }
}

/// Numbers in −1…1 that look random and are the same every time.
pub fn noise(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Fails where an element is further from what is wanted than `tolerance` of one plus its size.
pub fn close(what: &str, got: &HostTensor, wanted: &[f64], tolerance: f64) {
    assert_eq!(got.data.len(), wanted.len(), "{what}");
    for (i, (g, &w)) in got.to_f64().into_iter().zip(wanted).enumerate() {
        let same = g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= tolerance * (1.0 + w.abs());
        assert!(same, "{what}: element {i} is {g}, wanted {w}");
    }
}
