//! An independent judge: WGSL programs run through wgpu on a software Vulkan device, and the same programs, translated
//! to MSL by naga, run on SoftMetal. Both must give the same bytes.

use naga::back::msl;
use softmetal::{CompileOptions, Device, DeviceOptions, DispatchType};

const N: usize = 128;

/// Each program reads `a` and `b` and writes `o`; `i` is the global index and `l` the local one, of 64.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("add", "", "o[i] = a[i] + b[i];"),
    ("arithmetic", "", "o[i] = a[i] * b[i] - a[i] / (abs(b[i]) + 1.0) + fract(a[i]);"),
    ("min_max_clamp", "", "o[i] = clamp(a[i], -0.5, 0.5) + min(a[i], b[i]) * max(a[i], b[i]);"),
    (
        "rounding",
        "",
        "o[i] = floor(a[i]) + ceil(b[i]) * 10.0 + round(a[i] * 3.0) * 100.0 + trunc(b[i]) * 1000.0;",
    ),
    ("sqrt", "", "o[i] = sqrt(abs(a[i])) ;"),
    ("select", "", "o[i] = select(a[i], b[i], a[i] < b[i]);"),
    (
        "integers",
        "",
        "let x = i32(a[i] * 100.0); let y = i32(b[i] * 10.0) | 1; o[i] = f32(x / y) + f32(x % y) * 0.5 + f32(x * y);",
    ),
    ("division_edge", "", "let x = i32(i); let y = x % 3; o[i] = f32(x / y) + f32(x % y);"),
    ("unsigned", "", "let x = u32(i) * 2654435761u; o[i] = f32((x >> 7u) & 255u) + f32(x % 97u);"),
    ("shifts", "", "let x = i32(i) - 64; o[i] = f32(x >> 2u) + f32(x << 3u);"),
    (
        "bits",
        "",
        "let x = u32(i) * 40503u; o[i] = f32(countOneBits(x)) + f32(firstLeadingBit(x)) * 100.0 + f32(firstTrailingBit(x | 256u));",
    ),
    ("reverse", "", "o[i] = f32(reverseBits(u32(i)) >> 20u);"),
    (
        "extract",
        "",
        "o[i] = f32(extractBits(u32(i) * 977u, 3u, 7u)) + f32(extractBits(i32(i) - 64, 1u, 4u));",
    ),
    ("insert", "", "o[i] = f32(insertBits(u32(i), 5u, 2u, 3u));"),
    (
        "vectors",
        "",
        "let v = vec4<f32>(a[i], b[i], a[i] + 1.0, b[i] - 1.0); o[i] = dot(v.xyz, v.wzy) + v.zw.x * v.yx.y;",
    ),
    (
        "swizzle_write",
        "",
        "var v = vec4<f32>(0.0); v.x = a[i]; v.y = b[i]; v.z = v.x * v.y; v.w = v.z; o[i] = v.w + v.x;",
    ),
    (
        "cross_length",
        "",
        "let u = vec3<f32>(a[i], b[i], 1.0); let c = cross(u, vec3<f32>(1.0, 2.0, 3.0)); o[i] = c.x + c.y * 2.0 + c.z * 4.0;",
    ),
    (
        "matrix",
        "",
        "let m = mat3x3<f32>(vec3<f32>(a[i]), vec3<f32>(b[i]), vec3<f32>(1.0, 2.0, 3.0)); let r = m * vec3<f32>(1.0, -1.0, 0.5); o[i] = r.x + r.y + r.z;",
    ),
    ("transpose", "", "let m = mat2x2<f32>(a[i], b[i], 2.0, 3.0); o[i] = transpose(m)[0].y + (m * m)[1].x;"),
    (
        "loop",
        "",
        "var s = 0.0; for (var k = 0u; k < (u32(i) % 9u); k++) { s += a[(i + k) % 128u]; } o[i] = s;",
    ),
    (
        "while_break",
        "",
        "var x = u32(i) + 1u; var n = 0u; loop { if (x == 1u || n > 200u) { break; } if ((x & 1u) == 0u) { x = x / 2u; } else { x = 3u * x + 1u; } n++; } o[i] = f32(n);",
    ),
    (
        "switch",
        "",
        "var r = 0.0; switch (i % 4u) { case 0u: { r = a[i]; } case 1u, 2u: { r = b[i]; } default: { r = -1.0; } } o[i] = r;",
    ),
    (
        "function",
        "fn poly(x: f32, n: i32) -> f32 { var r = 1.0; for (var k = 0; k < n; k++) { r = r * x + 1.0; } return r; }",
        "o[i] = poly(a[i], 5);",
    ),
    (
        "struct",
        "struct S { x: f32, y: vec2<f32> }\nfn make(p: f32) -> S { return S(p, vec2<f32>(p * 2.0, 3.0)); }",
        "let s = make(a[i]); o[i] = s.x + s.y.x * s.y.y;",
    ),
    (
        "array",
        "",
        "var t = array<f32, 8>(); for (var k = 0u; k < 8u; k++) { t[k] = f32(k) * a[i]; } o[i] = t[i % 8u] + t[7];",
    ),
    (
        "const_table",
        "const table = array<f32, 4>(1.0, 2.0, 4.0, 8.0);",
        "var t = table; o[i] = t[i % 4u] * a[i];",
    ),
    ("bitcast", "", "o[i] = f32(bitcast<u32>(a[i]) >> 23u) + bitcast<f32>(0x3f800000u);"),
    (
        "workgroup_reverse",
        "var<workgroup> w: array<f32, 64>;",
        "w[l] = a[i]; workgroupBarrier(); o[i] = w[63u - l];",
    ),
    (
        "workgroup_sum",
        "var<workgroup> w: array<f32, 64>;",
        "w[l] = floor(a[i] * 16.0); workgroupBarrier(); for (var s = 32u; s > 0u; s >>= 1u) { if (l < s) { w[l] += w[l + s]; } workgroupBarrier(); } o[i] = w[0];",
    ),
    (
        "workgroup_scan",
        "var<workgroup> w: array<u32, 64>;",
        "w[l] = l + 1u; workgroupBarrier(); for (var s = 1u; s < 64u; s <<= 1u) { var v = w[l]; if (l >= s) { v += w[l - s]; } workgroupBarrier(); w[l] = v; workgroupBarrier(); } o[i] = f32(w[l]);",
    ),
    (
        "atomics",
        "var<workgroup> n: atomic<u32>;",
        "if (l == 0u) { atomicStore(&n, 5u); } workgroupBarrier(); atomicAdd(&n, l); workgroupBarrier(); o[i] = f32(atomicLoad(&n));",
    ),
    (
        "atomic_max",
        "var<workgroup> n: atomic<i32>;",
        "if (l == 0u) { atomicStore(&n, -100); } workgroupBarrier(); atomicMax(&n, i32(a[i] * 50.0)); workgroupBarrier(); o[i] = f32(atomicLoad(&n));",
    ),
    ("pack", "", "o[i] = f32(pack4x8unorm(vec4<f32>(a[i], b[i], 0.5, 1.0)) >> 8u);"),
    ("unpack", "", "let v = unpack4x8unorm(u32(i) * 66051u); o[i] = v.x + v.y * 2.0 + v.z * 4.0;"),
    ("short_circuit", "", "o[i] = select(0.0, 1.0, (a[i] > 0.0 && b[i] > 0.0) || i == 3u);"),
    (
        "any_all",
        "",
        "let v = vec3<f32>(a[i], b[i], 0.1); o[i] = select(0.0, 1.0, any(v > vec3<f32>(0.5))) + select(0.0, 2.0, all(v > vec3<f32>(-0.5)));",
    ),
    ("step_sign", "", "o[i] = step(0.25, a[i]) + sign(b[i]) * 10.0;"),
];

fn wgsl(globals: &str, body: &str) -> String {
    format!(
        "@group(0) @binding(0) var<storage, read> a: array<f32>;\n@group(0) @binding(1) var<storage, read> b: array<f32>;\n@group(0) @binding(2) var<storage, read_write> o: array<f32>;\n{globals}\n\
         @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(local_invocation_index) l: u32) {{ let i = gid.x; {body} }}"
    )
}

fn inputs() -> (Vec<f32>, Vec<f32>) {
    let a = (0..N).map(|i| ((i * 37 % 101) as f32 - 50.0) / 32.0).collect();
    let b = (0..N).map(|i| ((i * 53 % 89) as f32 - 44.0) / 16.0).collect();
    (a, b)
}

/// Translates with naga and runs on SoftMetal.
fn on_softmetal(device: &Device, source: &str) -> Vec<f32> {
    let module =
        naga::front::wgsl::parse_str(source).unwrap_or_else(|e| panic!("{}", e.emit_to_string(source)));
    let info =
        naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all())
            .validate(&module)
            .unwrap();
    let mut resources = msl::EntryPointResources::default();
    for binding in 0..3u8 {
        let target = msl::BindTarget { buffer: Some(binding), mutable: true, ..Default::default() };
        resources.resources.insert(naga::ResourceBinding { group: 0, binding: binding.into() }, target);
    }
    resources.sizes_buffer = Some(3);
    let options = msl::Options {
        lang_version: (2, 4),
        per_entry_point_map: [("main".to_string(), resources)].into(),
        fake_missing_bindings: false,
        ..Default::default()
    };
    let (text, info) = msl::write_string(&module, &info, &options, &msl::PipelineOptions::default()).unwrap();
    let name = info.entry_point_names[0].as_ref().unwrap().clone();
    let library = device
        .new_library(&text, &CompileOptions { language_version: 240, ..CompileOptions::default() })
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
    let pipeline =
        device.new_pipeline(&library.function(&name).unwrap()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let (a, b) = inputs();
    let buffers =
        [a, b, vec![0.0; N]].map(|v| device.new_buffer_with_bytes(bytemuck::cast_slice(&v)).unwrap());
    let command = device.new_queue().command_buffer();
    let mut e = command.compute_encoder(DispatchType::Serial);
    e.set_pipeline(&pipeline);
    for (i, buffer) in buffers.iter().enumerate() {
        e.set_buffer(i as u32, buffer, 0).unwrap();
    }
    for argument in
        pipeline.arguments().iter().filter(|a| a.binding.kind == softmetal::BindingKind::Threadgroup)
    {
        e.set_threadgroup_memory_length(argument.binding.index, argument.type_size.next_multiple_of(16))
            .unwrap();
    }
    e.set_bytes(3, bytemuck::cast_slice(&[N as u32 * 4; 3])).unwrap();
    e.dispatch_threadgroups(N as u32 / 64, 64).unwrap_or_else(|e| panic!("{e}\n{text}"));
    e.end_encoding();
    command.run().unwrap_or_else(|e| panic!("{e}\n{text}"));
    buffers[2].read().unwrap()
}

struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
}

impl Gpu {
    /// The software Vulkan device, or `None` when the machine has none.
    fn new() -> Option<Gpu> {
        let instance = wgpu::Instance::default();
        let options = wgpu::RequestAdapterOptions { force_fallback_adapter: true, ..Default::default() };
        let adapter = pollster::block_on(instance.request_adapter(&options)).ok()?;
        let (device, queue) =
            pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default())).ok()?;
        Some(Gpu { device, queue })
    }

    fn run(&self, source: &str) -> Vec<f32> {
        let d = &self.device;
        let module = d.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let pipeline = d.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        let (a, b) = inputs();
        let make = |v: &[f32], usage| {
            let buffer = d.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: (N * 4) as u64,
                usage: usage | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            self.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(v));
            buffer
        };
        let storage = wgpu::BufferUsages::STORAGE;
        let buffers = [
            make(&a, storage),
            make(&b, storage),
            make(&vec![0.0; N], storage | wgpu::BufferUsages::COPY_SRC),
        ];
        let back = make(&vec![0.0; N], wgpu::BufferUsages::MAP_READ);
        // The layout is derived from the shader: a buffer that it does not use has no entry.
        let uses = |name: &str| {
            source.split("fn main").nth(1).is_some_and(|s| s.contains(name))
                || source.split("fn main").next().is_some_and(|s| s.matches(name).count() > 1)
        };
        let entries: Vec<_> = ["a[", "b[", "o["]
            .iter()
            .enumerate()
            .filter(|(_, n)| uses(n))
            .map(|(i, _)| wgpu::BindGroupEntry {
                binding: i as u32,
                resource: buffers[i].as_entire_binding(),
            })
            .collect();
        let group = d.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let mut encoder = d.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(N as u32 / 64, 1, 1);
        }
        encoder.copy_buffer_to_buffer(&buffers[2], 0, &back, 0, (N * 4) as u64);
        self.queue.submit([encoder.finish()]);
        let slice = back.slice(..);
        slice.map_async(wgpu::MapMode::Read, |r| r.unwrap());
        d.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let view = slice.get_mapped_range();
        bytemuck::cast_slice(&view.unwrap()).to_vec()
    }
}

#[test]
fn wgsl_programs_agree() {
    let gpu = Gpu::new().expect("a software Vulkan device (Debian package mesa-vulkan-drivers)");
    let device = Device::new(DeviceOptions { hardware: false, ..DeviceOptions::default() }).unwrap();
    let mut wrong = Vec::new();
    for (name, globals, body) in PROGRAMS {
        let source = wgsl(globals, body);
        let (want, got) = (gpu.run(&source), on_softmetal(&device, &source));
        let bad = want.iter().zip(&got).position(|(w, g)| {
            !((w - g).abs() <= 2e-5 * w.abs().max(1.0) || w == g || w.is_nan() && g.is_nan())
        });
        if let Some(i) = bad {
            wrong.push(format!("{name}: element {i} is {} on SoftMetal and {} on Vulkan", got[i], want[i]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
