//! Every shader that the conformance cases lead to, parsed and validated by naga: no adapter is needed.

use rustc_hash::FxHashSet;
use std::sync::Arc;
use wootz_gpu::Bound;
use wootz_ir::graph::{Leaf, Node, NodeRef, Trace};
use wootz_ir::{DType, Layout, build};
use wootz_plan::{Place, Plan};
use wootz_testkit::{Case, Level, cases};
use wootz_webgpu::{Facts, Launch, launches};

/// What a GPU of today has, and what a CPU has that plays one.
const GPU: Facts = Facts { max_bindings: 32, subgroups: Some((32, 64)), ..Facts::PROMISED };
const APPLE: Facts = Facts { cooperative: true, cooperative_halves: true, subgroups: Some((32, 32)), ..GPU };
const CPU: Facts = Facts { max_bindings: 32, subgroups: Some((8, 8)), cpu: true, ..Facts::PROMISED };

fn plan(case: &Case, facts: &Facts) -> Option<Plan> {
    let leaf = |leaf: &wootz_testkit::Leaf| {
        let payload = Arc::new(());
        Node::leaf(Leaf { layout: leaf.layout.clone(), donated: leaf.donated, payload }, leaf.dtype())
    };
    let nodes: Vec<NodeRef> = case.leaves.iter().map(leaf).collect();
    let trace = Trace::of(&[(case.build)(&nodes).expect("cases are well-formed")]);
    let plan = Plan::new(&trace.graph, &facts.capabilities());
    wootz_gpu::refuse_f64(&plan, "webgpu", "").is_ok().then_some(plan)
}

/// Validates what is new among the shaders of the cases, with the features of the facts and no other.
fn validate_all(level: Level, facts: &Facts) -> usize {
    let mut seen = FxHashSet::default();
    // Families whose variants depend on the adapter and on sizes are tried at all of these.
    let varied = |case: &Case| {
        ["matmul", "attention", "softmax", "rms_norm", "layer_norm", "reduce"].contains(&case.family)
    };
    let full = cases(Level::Full).into_iter().filter(varied);
    for case in cases(level).into_iter().chain(full) {
        let Some(plan) = plan(&case, facts) else { continue };
        for launch in launches(&plan, facts).unwrap_or_else(|e| panic!("{}: {e}", case.name)) {
            if seen.insert(launch.source.clone()) {
                validate(&case.name, &launch.source, facts);
            }
        }
    }
    seen.len()
}

fn validate(name: &str, source: &str, facts: &Facts) {
    let module = naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|e| panic!("{name}: {}\n{source}", e.emit_to_string(source)));
    let flags = naga::valid::ValidationFlags::all();
    let mut allowed = naga::valid::Capabilities::empty();
    allowed.set(naga::valid::Capabilities::SUBGROUP, facts.subgroups.is_some());
    allowed.set(naga::valid::Capabilities::COOPERATIVE_MATRIX, facts.cooperative);
    allowed.set(naga::valid::Capabilities::SHADER_FLOAT16, facts.cooperative_halves);
    let mut validator = naga::valid::Validator::new(flags, allowed);
    if let Err(e) = validator.validate(&module) {
        panic!("{name}: {}\n{source}", e.emit_to_string(source));
    }
}

#[test]
fn shaders_are_valid_without_any_optional_feature() {
    let count = validate_all(Level::Quick, &Facts::PROMISED);
    assert!(count > 300, "{count}");
}

#[test]
fn shaders_are_valid_with_every_optional_feature() {
    for facts in [GPU, APPLE, CPU] {
        let count = validate_all(Level::Quick, &facts);
        assert!(count > 300, "{count}");
    }
}

#[test]
fn shaders_are_valid_with_split_bindings() {
    let facts = Facts { max_binding: 256, max_bindings: 4096, max_groups: 3, ..Facts::PROMISED };
    let count = validate_all(Level::Quick, &facts);
    assert!(count > 300, "{count}");
}

#[test]
fn shapes_are_data_and_not_text() {
    // The same op over other extents and strides of the same rank makes no new shader.
    let all = cases(Level::Full);
    let mut sources = FxHashSet::default();
    let adds = all.iter().filter(|c| c.name.starts_with("map/add/f32/contiguous/n"));
    let mut shapes = 0;
    for case in adds {
        let plan = plan(case, &Facts::PROMISED).expect("f32");
        sources.extend(launches(&plan, &Facts::PROMISED).expect("an add").into_iter().map(|l| l.source));
        shapes += 1;
    }
    assert!(shapes > 10, "{shapes}");
    // One element is a rank of its own, and so are whole quads.
    assert!(sources.len() <= 3, "{}", sources.len());
}

/// Runs a shader on SoftMetal, translated as wgpu does it for Metal. `storage` are the storage bindings in their order.
fn on_softmetal(launch: &Launch, storage: &mut [Vec<u8>]) {
    use naga::back::msl;
    let module = naga::front::wgsl::parse_str(&launch.source).expect("validated before");
    let everything = naga::valid::Capabilities::all();
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), everything)
        .validate(&module)
        .expect("validated before");
    let mut resources = msl::EntryPointResources::default();
    for slot in 0..2 + storage.len() {
        let facts = msl::BindTarget { buffer: Some(slot as u8), mutable: slot >= 2, ..Default::default() };
        resources.resources.insert(naga::ResourceBinding { group: 0, binding: slot as u32 }, facts);
    }
    let sizes = 2 + storage.len() as u32;
    resources.sizes_buffer = Some(sizes as u8);
    let options = msl::Options {
        lang_version: (2, 4),
        per_entry_point_map: [(launch.entry.to_string(), resources)].into(),
        fake_missing_bindings: false,
        ..Default::default()
    };
    let (text, names) = msl::write_string(&module, &info, &options, &msl::PipelineOptions::default())
        .expect("MSL 2.4 has all of it");
    let name = names.entry_point_names[0].as_ref().expect("one entry point");

    let checks = softmetal::DeviceOptions { check: Some(Default::default()), ..Default::default() };
    let device = softmetal::Device::new(checks).expect("a software device");
    let options = softmetal::CompileOptions { language_version: 240, ..Default::default() };
    let library = device.new_library(&text, &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let function = library.function(name).expect("the entry point");
    let pipeline = device.new_pipeline(&function).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let buffers: Vec<_> =
        storage.iter().map(|bytes| device.new_buffer_with_bytes(bytes).expect("a small buffer")).collect();
    let command = device.new_queue().command_buffer();
    let mut encoder = command.compute_encoder(softmetal::DispatchType::Serial);
    encoder.set_pipeline(&pipeline);
    encoder.set_bytes(0, bytemuck::cast_slice(&launch.uniform)).expect("uniforms");
    for (buffer, slot) in buffers.iter().zip(2..) {
        encoder.set_buffer(slot, buffer, 0).expect("a buffer");
    }
    let lengths: Vec<u32> = storage.iter().map(|bytes| bytes.len() as u32).collect();
    encoder.set_bytes(sizes, bytemuck::cast_slice(&lengths)).expect("sizes");
    for argument in pipeline.arguments() {
        if argument.binding.kind == softmetal::BindingKind::Threadgroup {
            let length = argument.type_size.next_multiple_of(16);
            encoder.set_threadgroup_memory_length(argument.binding.index, length).expect("a length");
        }
    }
    let [x, y, z] = launch.groups;
    encoder.dispatch_threadgroups((x, y, z), 256).unwrap_or_else(|e| panic!("{e}\n{text}"));
    encoder.end_encoding();
    command.run().unwrap_or_else(|e| panic!("{e}\n{text}"));
    for (bytes, buffer) in storage.iter_mut().zip(&buffers) {
        *bytes = buffer.read::<u8>().expect("it has run");
    }
}

/// No adapter here has cooperative matrices, but SoftMetal runs what naga makes of them for Metal, with the checker on.
#[test]
fn cooperative_products_on_softmetal() {
    let shapes = [(64, 64, 16), (16, 16, 8), (70, 100, 40), (17, 65, 33)];
    for (dtype, (m, n, k)) in [DType::F32, DType::F16].into_iter().flat_map(|d| shapes.map(|s| (d, s))) {
        let leaf = |rows: usize, columns: usize| {
            let layout = Layout::contiguous(&[rows, columns].into());
            Node::leaf(Leaf { layout, donated: false, payload: Arc::new(()) }, dtype)
        };
        let product = build::matmul(&leaf(m, k), &leaf(k, n)).expect("a product");
        let plan = Plan::new(&Trace::of(&[product]).graph, &APPLE.capabilities());
        let launches = launches(&plan, &APPLE).expect("a product");
        let [launch] = &launches[..] else { panic!("one launch") };
        assert_eq!(launch.entry, "matmul_cooperative");
        assert_eq!(launch.source.contains("enable f16"), dtype == DType::F16);
        // Small whole numbers: every order of summing gives the same, which is a whole number that halves have too.
        let numbers = |count: usize, by: usize| -> Vec<f32> {
            (0..count).map(|i| (i * by % 17) as f32 - 8.0).collect()
        };
        let (a, b) = (numbers(m * k, 7), numbers(k * n, 5));
        let mut storage: Vec<Vec<u8>> = launch
            .bindings
            .iter()
            .map(|binding| match binding.bound {
                Bound::Plan(id) => match plan.buffers[id as usize].place {
                    Place::Leaf(0) => stored(&a, dtype),
                    Place::Leaf(_) => stored(&b, dtype),
                    _ => vec![0; (dtype.size() * m * n).next_multiple_of(4)],
                },
                other => panic!("a product needs no {other:?}"),
            })
            .collect();
        on_softmetal(launch, &mut storage);
        let written = launch.bindings.iter().position(|b| !b.read_only).expect("a result");
        let expected: Vec<f32> =
            (0..m * n).map(|i| (0..k).map(|d| a[i / n * k + d] * b[d * n + i % n]).sum()).collect();
        let size = dtype.size() * m * n;
        assert_eq!(storage[written][..size], stored(&expected, dtype)[..size], "{dtype} {m}x{n}x{k}");
    }
}

/// Numbers as a buffer has them, in whole words.
fn stored(values: &[f32], dtype: DType) -> Vec<u8> {
    let mut bytes: Vec<u8> = match dtype {
        DType::F16 => values.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes()).collect(),
        _ => bytemuck::cast_slice(values).to_vec(),
    };
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
