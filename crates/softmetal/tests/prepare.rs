//! Kernels compiled together behave as those compiled alone.

use softmetal::check::CheckOptions;
use softmetal::*;
use std::path::Path;

/// Kernels of one name that differ in a macro, one with threadgroup memory, and one that does not compile.
fn sources() -> Vec<String> {
    let source = |factor: &str, body: &str| {
        format!(
            "#include <metal_stdlib>\nusing namespace metal;\n#define FACTOR {factor}\nstruct Args {{ float by[FACTOR]; }};\n\
             kernel void scale(device float* x, uint i [[thread_position_in_grid]]) {{\n{body}\n}}\n"
        )
    };
    let plain = "x[i] *= FACTOR + 0 * sizeof(Args);";
    let shared = "threadgroup float t[4]; t[i] = x[i]; threadgroup_barrier(mem_flags::mem_threadgroup); x[i] = t[3 - i];";
    let mut list: Vec<String> = (2..8).map(|f| source(&f.to_string(), plain)).collect();
    list.push(source("8", shared));
    list.push(source("9", "x[i] = missing;"));
    list
}

fn run(device: &Device, source: &str) -> Result<Vec<f32>> {
    let library = device.new_library(source, &CompileOptions::default())?;
    let pipeline = device.new_pipeline(&library.function("scale")?)?;
    let buffer = device.new_buffer_with_bytes(bytemuck::cast_slice(&[1.0f32, 2.0, 3.0, 4.0]))?;
    let command = device.new_queue().command_buffer();
    let mut encoder = command.compute_encoder(DispatchType::Serial);
    encoder.set_pipeline(&pipeline);
    encoder.set_buffer(0, &buffer, 0)?;
    encoder.dispatch_threads(4, 4)?;
    encoder.end_encoding();
    command.run()?;
    buffer.read()
}

fn libraries(folder: &Path) -> usize {
    let folders = std::fs::read_dir(folder.join("kernels")).into_iter().flatten().flatten();
    let files = folders.flat_map(|f| std::fs::read_dir(f.path()).into_iter().flatten().flatten());
    files.filter(|f| f.path().extension().is_some_and(|e| e == "so")).count()
}

#[test]
fn many_kernels_share_a_library_and_stay_apart() {
    for check in [None, Some(CheckOptions::default())] {
        let folder = tempfile::tempdir().unwrap();
        let options =
            DeviceOptions { check, cache_dir: Some(folder.path().into()), ..DeviceOptions::default() };
        let device = Device::new(options.clone()).unwrap();
        let sources = sources();
        let recipe = |source| Recipe {
            source,
            options: CompileOptions::default(),
            function: "scale",
            constants: FunctionConstants::new(),
        };
        // The good ones twice, so that each has good neighbours however many cores share them.
        let recipes: Vec<_> = sources[..6].iter().chain(&sources).map(|s| recipe(s)).collect();
        device.prepare(&recipes);
        let made = libraries(folder.path());
        assert!(made > 0);
        for (source, factor) in sources.iter().zip(2..8) {
            let factor = factor as f32;
            assert_eq!(run(&device, source).unwrap(), [factor, 2.0 * factor, 3.0 * factor, 4.0 * factor]);
        }
        assert_eq!(libraries(folder.path()), made, "all were found");
        assert_eq!(run(&device, &sources[6]).unwrap(), [4.0, 3.0, 2.0, 1.0]);
        let Err(Error::Compile { diagnostics }) = run(&device, &sources[7]) else { panic!("it compiled") };
        assert_eq!(diagnostics[0].line, 6);
        assert!(diagnostics[0].message.contains("missing"), "{diagnostics:?}");
        // Another process finds the same.
        let again = Device::new(options).unwrap();
        let before = libraries(folder.path());
        assert_eq!(run(&again, &sources[3]).unwrap(), [5.0, 10.0, 15.0, 20.0]);
        assert_eq!(libraries(folder.path()), before);
    }
}
