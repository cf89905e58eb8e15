//! Textures and samplers in compute kernels, with the checker's bounds.

mod common;

use softmetal::check::CheckOptions;
use softmetal::{
    AddressMode, CompileOptions, Device, DeviceOptions, DispatchType, Error, Filter, MipFilter, PixelFormat,
    Sampler, StorageMode, Texture, TextureDescriptor, TextureKind,
};

fn device(checked: bool) -> Device {
    let check = checked.then(CheckOptions::default);
    Device::new(DeviceOptions { check, ..DeviceOptions::default() }).unwrap()
}

/// Runs the kernel `k`; `out` is buffer 0, of floats.
fn run(
    device: &Device,
    source: &str,
    textures: &[&Texture],
    samplers: &[Sampler],
    (grid, out): ((u32, u32, u32), usize),
) -> Result<Vec<f32>, Error> {
    let source = format!("#include <metal_stdlib>\nusing namespace metal;\n#line 1\n{source}");
    let library = device.new_library(&source, &CompileOptions::default())?;
    let pipeline = device.new_pipeline(&library.function("k")?)?;
    let buffer = device.new_buffer(out.max(1) * 4, StorageMode::Shared)?;
    let command = device.new_queue().command_buffer();
    let mut e = command.compute_encoder(DispatchType::Serial);
    e.set_pipeline(&pipeline);
    e.set_buffer(0, &buffer, 0)?;
    for (i, t) in textures.iter().enumerate() {
        e.set_texture(i as u32, t)?;
    }
    for (i, s) in samplers.iter().enumerate() {
        e.set_sampler(i as u32, s)?;
    }
    e.dispatch_threads(grid, (grid.0.min(8), grid.1.min(8), 1))?;
    e.end_encoding();
    command.run()?;
    buffer.read()
}

/// A 2D texture of one float per texel: 0, 1, 2 … by rows.
fn counted(device: &Device, width: u32, height: u32) -> Texture {
    let t = device.new_texture(&TextureDescriptor::d2(PixelFormat::R32Float, width, height)).unwrap();
    let texels: Vec<f32> = (0..width * height).map(|i| i as f32).collect();
    t.write_bytes(0, 0, bytemuck::cast_slice(&texels)).unwrap();
    t
}

#[test]
fn a_kernel_reads_and_writes_texels() {
    for checked in [false, true] {
        let d = device(checked);
        let a = counted(&d, 5, 3);
        let b = d.new_texture(&TextureDescriptor::d2(PixelFormat::Rgba8Unorm, 5, 3)).unwrap();
        run(
            &d,
            "kernel void k(texture2d<float, access::read> a [[texture(0)]], texture2d<float, access::write> b [[texture(1)]],
                           uint2 p [[thread_position_in_grid]]) {
               if (p.x >= a.get_width() || p.y >= a.get_height()) return;
               float v = a.read(p).x;
               b.write(float4(v / 15, 0.5, 2, -1), p);
             }",
            &[&a, &b],
            &[],
            ((5, 3, 1), 0),
        )
        .map(|_| ())
        .unwrap_or_else(|e| panic!("checked {checked}: {e}"));
        let bytes = b.read_bytes(0, 0).unwrap();
        for (i, texel) in bytes.chunks(4).enumerate() {
            assert_eq!(texel, [(i as f32 / 15.0 * 255.0).round() as u8, 128, 255, 0], "texel {i}");
        }
    }
}

#[test]
fn a_texel_outside_is_found_at_its_line() {
    let d = device(true);
    let a = counted(&d, 4, 4);
    let source =
        "kernel void k(device float *o [[buffer(0)]], texture2d<float, access::read> a [[texture(0)]],
      uint2 p [[thread_position_in_grid]]) {
   o[p.x] = a.read(uint2(p.x + 1, 0)).x;
}";
    match run(&d, source, &[&a], &[], ((4, 1, 1), 4)) {
        Err(Error::Check(reports)) => {
            assert_eq!(reports.len(), 1, "{reports:?}");
            assert_eq!(reports[0].line, 3, "{}", reports[0]);
            let text = reports[0].to_string();
            assert!(text.contains("texel (4, 0, 0) of texture 0 (`a`), which has 4 x 4"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    // Without the checker it is zero, as on hardware.
    let d = device(false);
    let a = counted(&d, 4, 4);
    assert_eq!(run(&d, source, &[&a], &[], ((4, 1, 1), 4)).unwrap(), [1.0, 2.0, 3.0, 0.0]);
}

#[test]
fn two_writers_of_one_texel_race() {
    let d = device(true);
    let t = d.new_texture(&TextureDescriptor::d2(PixelFormat::R32Float, 4, 4)).unwrap();
    let source = "kernel void k(texture2d<float, access::write> t [[texture(0)]], uint i [[thread_position_in_grid]]) {
   t.write(float4(i), uint2(i / 2, 0));
}";
    match run(&d, source, &[&t], &[], ((4, 1, 1), 0)) {
        Err(Error::Check(reports)) => {
            assert!(reports[0].to_string().contains("texture 0 (`t`)"), "{}", reports[0])
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn samplers_filter_and_wrap() {
    let d = device(true);
    let t = counted(&d, 4, 1);
    let source = "kernel void k(device float *o [[buffer(0)]], texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]],
      uint i [[thread_position_in_grid]]) { o[i] = t.sample(s, float2((float(i) - 2) / 8, 0.5)).x; }";
    let sampled = |address, filter| {
        let s =
            Sampler { address: [address; 3], mag_filter: filter, min_filter: filter, ..Sampler::default() };
        run(&d, source, &[&t], &[s], ((13, 1, 1), 13)).unwrap()
    };
    use AddressMode::*;
    assert_eq!(sampled(ClampToEdge, Filter::Nearest), [0., 0., 0., 0., 1., 1., 2., 2., 3., 3., 3., 3., 3.]);
    assert_eq!(sampled(Repeat, Filter::Nearest), [3., 3., 0., 0., 1., 1., 2., 2., 3., 3., 0., 0., 1.]);
    assert_eq!(sampled(MirrorRepeat, Filter::Nearest), [0., 0., 0., 0., 1., 1., 2., 2., 3., 3., 3., 3., 2.]);
    assert_eq!(sampled(ClampToZero, Filter::Nearest), [0., 0., 0., 0., 1., 1., 2., 2., 3., 3., 0., 0., 0.]);
    assert_eq!(sampled(ClampToEdge, Filter::Linear), [0., 0., 0., 0., 0.5, 1., 1.5, 2., 2.5, 3., 3., 3., 3.]);
    assert_eq!(sampled(Repeat, Filter::Linear), [2.5, 3., 1.5, 0., 0.5, 1., 1.5, 2., 2.5, 3., 1.5, 0., 0.5]);
}

#[test]
fn a_sampler_in_the_source_is_the_host_s() {
    let d = device(false);
    let t = counted(&d, 4, 4);
    let source = "constexpr sampler s(coord::pixel, address::repeat, filter::linear);
kernel void k(device float *o [[buffer(0)]], texture2d<float> t [[texture(0)]], sampler host [[sampler(0)]],
              uint2 p [[thread_position_in_grid]]) {
  constexpr sampler near(coord::pixel, filter::nearest);
  float2 c = float2(p) + 0.25;
  uint i = (p.y * 4 + p.x) * 3;
  o[i] = t.sample(s, c).x;
  o[i + 1] = t.sample(host, c).x;
  o[i + 2] = t.sample(near, c).x;
}";
    let host = Sampler {
        address: [AddressMode::Repeat; 3],
        mag_filter: Filter::Linear,
        min_filter: Filter::Linear,
        normalized_coordinates: false,
        ..Sampler::default()
    };
    let out = run(&d, source, &[&t], &[host], ((4, 4, 1), 48)).unwrap();
    for (i, v) in out.chunks(3).enumerate() {
        assert_eq!(v[0], v[1], "texel {i}");
        assert_eq!(v[2], i as f32);
    }
    // A quarter to the left and above of the middle: three quarters of this texel, a quarter of its neighbour, twice.
    assert_eq!(out[5 * 3], 0.75 * (0.75 * 5.0 + 0.25 * 4.0) + 0.25 * (0.75 * 1.0 + 0.25 * 0.0));
}

#[test]
fn levels_layers_faces_and_slices() {
    let d = device(true);
    let texture = |kind, depth, array_length, mipmap_levels| {
        let descriptor = TextureDescriptor {
            kind,
            depth,
            array_length,
            mipmap_levels,
            ..TextureDescriptor::d2(PixelFormat::R32Float, 4, 4)
        };
        d.new_texture(&descriptor).unwrap()
    };
    let fill = |t: &Texture, level: u32, slice: u32, images: usize, value: f32| {
        let n = (4usize >> level).max(1);
        let texels: Vec<f32> = (0..n * n * images).map(|i| value + (i / (n * n)) as f32).collect();
        t.write_bytes(level, slice, bytemuck::cast_slice(&texels)).unwrap();
    };
    let volume = texture(TextureKind::D3, 3, 1, 1);
    fill(&volume, 0, 0, 3, 10.0);
    let layers = texture(TextureKind::D2Array, 1, 2, 1);
    (0..2).for_each(|k| fill(&layers, 0, k, 1, 20.0 + k as f32));
    let cube = texture(TextureKind::Cube, 1, 1, 1);
    (0..6).for_each(|k| fill(&cube, 0, k, 1, 30.0 + k as f32));
    let mips = texture(TextureKind::D2, 1, 1, 3);
    (0..3).for_each(|k| fill(&mips, k, 0, 1, 40.0 + k as f32));
    let source = "kernel void k(device float *o [[buffer(0)]], texture3d<float> v [[texture(0)]], texture2d_array<float> l [[texture(1)]],
  texturecube<float> c [[texture(2)]], texture2d<float> m [[texture(3)]], sampler s [[sampler(0)]]) {
  o[0] = v.read(uint3(1, 1, 2)).x;
  o[1] = v.sample(s, float3(0.5, 0.5, 0.5)).x;
  o[2] = l.sample(s, float2(0.5), 1).x;
  o[3] = c.sample(s, float3(1, 0, 0)).x; o[4] = c.sample(s, float3(-1, 0.2, 0)).x; o[5] = c.sample(s, float3(0, 1, 0)).x;
  o[6] = c.sample(s, float3(0, -1, 0)).x; o[7] = c.sample(s, float3(0, 0, 1)).x; o[8] = c.sample(s, float3(0, 0, -1)).x;
  o[9] = m.sample(s, float2(0.5), level(1)).x; o[10] = m.sample(s, float2(0.5), level(1.5)).x;
  o[11] = m.read(uint2(0), 2).x; o[12] = m.get_width(1); o[13] = v.get_depth(); o[14] = l.get_array_size(); o[15] = m.get_num_mip_levels();
}";
    let s = Sampler { mip_filter: MipFilter::Linear, ..Sampler::default() };
    let out = run(&d, source, &[&volume, &layers, &cube, &mips], &[s], ((1, 1, 1), 16)).unwrap();
    assert_eq!(out, [12., 11., 21., 30., 31., 32., 33., 34., 35., 41., 41.5, 42., 2., 3., 2., 3.]);
}

#[test]
fn formats_round_trip() {
    let d = device(true);
    let source = "kernel void k(texture2d<TYPE, access::read_write> t [[texture(0)]]) {
  t.write(vec<TYPE, 4>(VALUES), uint2(0, 0));
  t.write(t.read(uint2(0, 0)), uint2(1, 0));
}";
    for (format, kind, values, bytes) in [
        (PixelFormat::R8Unorm, "float", "0.2, 0, 0, 0", &[51u8][..]),
        (PixelFormat::Rg8Snorm, "float", "-1, 0.5, 0, 0", &[0x81, 64]),
        (PixelFormat::Bgra8Unorm, "half", "1, 0, 0.2, 0.4", &[51, 0, 255, 102]),
        (PixelFormat::Rgba8UnormSrgb, "float", "1, 0, 0.5, 0.5", &[255, 0, 188, 128]),
        (PixelFormat::R16Float, "float", "1.5, 0, 0, 0", &[0x00, 0x3e]),
        (PixelFormat::Rgb10A2Unorm, "float", "1, 0, 0, 1", &[0xff, 0x03, 0x00, 0xc0]),
        (PixelFormat::R16Sint, "short", "-2, 0, 0, 0", &[0xfe, 0xff]),
        (PixelFormat::Rgba8Uint, "uint", "1, 2, 3, 255", &[1, 2, 3, 255]),
        (PixelFormat::R32Sint, "int", "-3, 0, 0, 0", &[0xfd, 0xff, 0xff, 0xff]),
    ] {
        let t = d.new_texture(&TextureDescriptor::d2(format, 2, 1)).unwrap();
        let text = source.replace("TYPE", kind).replace("VALUES", values);
        run(&d, &text, &[&t], &[], ((1, 1, 1), 0)).unwrap_or_else(|e| panic!("{}: {e}", format.name()));
        let got = t.read_bytes(0, 0).unwrap();
        assert_eq!(got, [bytes, bytes].concat(), "{}", format.name());
    }
}

#[test]
fn argument_buffers_hold_textures_samplers_and_pointers() {
    for checked in [false, true] {
        let d = device(checked);
        let t = counted(&d, 4, 1);
        let values = d.new_buffer_with_bytes(bytemuck::cast_slice(&[7.0f32, 8.0])).unwrap();
        let words = [values.gpu_address(), t.gpu_resource_id(), Sampler::default().gpu_resource_id(), 5];
        let arguments = d.new_buffer_with_bytes(bytemuck::cast_slice(&words)).unwrap();
        let out = d.new_buffer(8, StorageMode::Shared).unwrap();
        let source = "#include <metal_stdlib>
using namespace metal;
struct Args { device float *values [[id(0)]]; texture2d<float> t [[id(1)]]; sampler s [[id(2)]]; int n [[id(3)]]; };
kernel void k(constant Args &args [[buffer(0)]], device float *o [[buffer(1)]]) {
  o[0] = args.values[1] + args.n; o[1] = args.t.sample(args.s, float2(0.6, 0)).x;
}";
        let library = d.new_library(source, &CompileOptions::default()).unwrap();
        let pipeline = d.new_pipeline(&library.function("k").unwrap()).unwrap();
        let command = d.new_queue().command_buffer();
        let mut e = command.compute_encoder(DispatchType::Serial);
        e.set_pipeline(&pipeline);
        e.set_buffer(0, &arguments, 0).unwrap();
        e.set_buffer(1, &out, 0).unwrap();
        e.use_buffer(&values);
        e.use_texture(&t);
        e.dispatch_threads(1, 1).unwrap();
        e.end_encoding();
        command.run().unwrap_or_else(|e| panic!("checked {checked}: {e}"));
        assert_eq!(out.read::<f32>().unwrap(), [13.0, 2.0]);
    }
}

#[test]
fn wrong_textures_are_refused_with_the_cause() {
    let d = device(false);
    let big = TextureDescriptor::d2(PixelFormat::R8Unorm, 16385, 1);
    let text = d.new_texture(&big).unwrap_err().to_string();
    assert!(text.contains("a width of 16385; there must be 1 to 16384"), "{text}");
    let source = "kernel void k(texture2d<uint, access::read> t [[texture(0)]], device float *o [[buffer(0)]]) { o[0] = t.read(uint2(0)).x; }";
    let t = counted(&d, 2, 2);
    let text = run(&d, source, &[&t], &[], ((1, 1, 1), 1)).unwrap_err().to_string();
    assert!(text.contains("the texels of r32float are float"), "{text}");
    let text = run(&d, source, &[], &[], ((1, 1, 1), 1)).unwrap_err().to_string();
    assert!(text.contains("texture 0 (`t`) is not bound"), "{text}");
    let text = t.read_bytes(1, 0).unwrap_err().to_string();
    assert!(text.contains("level 1"), "{text}");
}

#[test]
fn tables_hold_functions() {
    for checked in [false, true] {
        let d = device(checked);
        let source = "#include <metal_stdlib>
using namespace metal;
[[visible]] float twice(float x) { return 2 * x; }
[[visible]] float square(float x) { return x * x; }
kernel void k(visible_function_table<float(float)> f [[buffer(0)]], device float *o [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  o[i] = f[i % 2](float(i));
}";
        let library = d.new_library(source, &CompileOptions::default()).unwrap();
        let pipeline = d.new_pipeline(&library.function("k").unwrap()).unwrap();
        let table = ["twice", "square"].map(|name| pipeline.visible_function(name).unwrap());
        assert_eq!(pipeline.visible_function("k"), None);
        let table = d.new_buffer_with_bytes(bytemuck::cast_slice(&table)).unwrap();
        let out = d.new_buffer(16, StorageMode::Shared).unwrap();
        let command = d.new_queue().command_buffer();
        let mut e = command.compute_encoder(DispatchType::Serial);
        e.set_pipeline(&pipeline);
        e.set_buffer(0, &table, 0).unwrap();
        e.set_buffer(1, &out, 0).unwrap();
        e.dispatch_threads(4, 4).unwrap();
        e.end_encoding();
        command.run().unwrap_or_else(|e| panic!("checked {checked}: {e}"));
        assert_eq!(out.read::<f32>().unwrap(), [0.0, 1.0, 4.0, 9.0]);
    }
}

#[test]
fn texels_have_atomics() {
    for checked in [false, true] {
        let d = device(checked);
        let t = d.new_texture(&TextureDescriptor::d2(PixelFormat::R32Uint, 2, 1)).unwrap();
        let source = "kernel void k(texture2d<uint, access::read_write> t [[texture(0)]], uint i [[thread_position_in_grid]]) {
  t.atomic_fetch_add(uint2(0, 0), i);
  t.atomic_fetch_max(uint2(1, 0), i);
}";
        run(&d, source, &[&t], &[], ((100, 1, 1), 0)).unwrap_or_else(|e| panic!("checked {checked}: {e}"));
        let got = t.read_bytes(0, 0).unwrap();
        assert_eq!(bytemuck::pod_read_unaligned::<[u32; 2]>(&got), [4950, 99]);
    }
}

#[test]
fn a_tensor_is_a_view_that_its_buffer_describes() {
    let d = device(true);
    let values = d.new_buffer_with_bytes(bytemuck::cast_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])).unwrap();
    // Two columns of three rows, by columns: extents, then strides.
    let words = [values.gpu_address(), 2, 3, 3, 1];
    let source = "#include <metal_stdlib>
#include <metal_tensor>
using namespace metal;
kernel void k(tensor<device float, dextents<int, 2>> t [[buffer(0)]], device float *o [[buffer(1)]]) {
  o[0] = t(1, 2); o[1] = t.get_extent(1); t(0, 1) = 20;
}";
    let options = CompileOptions { language_version: 400, ..CompileOptions::default() };
    let library = d.new_library(source, &options).unwrap();
    let pipeline = d.new_pipeline(&library.function("k").unwrap()).unwrap();
    let out = d.new_buffer(8, StorageMode::Shared).unwrap();
    let command = d.new_queue().command_buffer();
    let mut e = command.compute_encoder(DispatchType::Serial);
    e.set_pipeline(&pipeline);
    e.set_bytes(0, bytemuck::cast_slice(&words)).unwrap();
    e.set_buffer(1, &out, 0).unwrap();
    e.use_buffer(&values);
    e.dispatch_threads(1, 1).unwrap();
    e.end_encoding();
    command.run().unwrap();
    assert_eq!(out.read::<f32>().unwrap(), [6.0, 3.0]);
    assert_eq!(values.read::<f32>().unwrap()[1], 20.0);
}
