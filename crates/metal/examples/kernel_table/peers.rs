//! The kernels of two other projects on the same problems, run from their own sources with their own launch sizes.

use crate::problems::{StandardProblem, blocks, counted};
use crate::rig::noise;
use half::f16;
use softmetal::profile::DispatchProfile;
use softmetal::{
    CompileOptions, ConstantValue, Device, DeviceOptions, DispatchType, FunctionConstants, Library, Result,
    StorageMode,
};
use std::path::{Path, PathBuf};
use wootz_blocks::BlockFormat;
use wootz_ir::DType;
use wootz_report::Counted;

/// An argument of a kernel.
pub(crate) enum Arg {
    Data(Vec<u8>),
    Room(usize),
    Inline(Vec<u8>),
    Nothing,
}

/// One launch of a peer's kernel.
pub(crate) struct Launch {
    pub kernel: String,
    pub groups: (u32, u32, u32),
    pub threads: (u32, u32, u32),
    pub memory: u32,
    pub constants: Vec<(u32, bool)>,
    pub args: Vec<Arg>,
}

/// A peer's kernels.
pub(crate) struct Peer {
    device: Device,
    library: Library,
}

/// A device that counts.
fn counting() -> Result<Device> {
    Device::new(DeviceOptions { profile: true, ..DeviceOptions::default() })
}

impl Peer {
    /// The kernels of a Metal file.
    fn new(file: &Path, include_dirs: Vec<PathBuf>, defines: &[&str]) -> Result<Peer> {
        let source = std::fs::read_to_string(file)
            .map_err(|e| softmetal::Error::Invalid(format!("{}: {e}", file.display())))?;
        let defines = defines.iter().map(|d| (d.to_string(), "1".to_string())).collect();
        let options = CompileOptions { include_dirs, defines, ..CompileOptions::default() };
        let device = counting()?;
        let library = device.new_library(&source, &options)?;
        Ok(Peer { device, library })
    }

    /// The kernels of a metallib.
    pub fn compiled(metallib: &Path) -> Result<Peer> {
        Ok(Peer { device: counting()?, library: Library::from_metallib(metallib)? })
    }

    pub fn run(&self, launch: &Launch) -> Result<Vec<DispatchProfile>> {
        let mut constants = FunctionConstants::new();
        for &(index, value) in &launch.constants {
            constants = constants.with(index, ConstantValue::Bool(value));
        }
        let function = self.library.function_with_constants(&launch.kernel, &constants)?;
        let pipeline = self.device.new_pipeline(&function)?;
        let queue = self.device.new_queue();
        let command = queue.command_buffer();
        let mut encoder = command.compute_encoder(DispatchType::Serial);
        encoder.set_pipeline(&pipeline);
        for (i, arg) in launch.args.iter().enumerate() {
            match arg {
                Arg::Data(bytes) => {
                    encoder.set_buffer(i as u32, &self.device.new_buffer_with_bytes(bytes)?, 0)?;
                }
                Arg::Room(bytes) => {
                    encoder.set_buffer(i as u32, &self.device.new_buffer(*bytes, StorageMode::Shared)?, 0)?;
                }
                Arg::Inline(bytes) => encoder.set_bytes(i as u32, bytes)?,
                Arg::Nothing => {}
            }
        }
        if launch.memory > 0 {
            encoder.set_threadgroup_memory_length(0, launch.memory)?;
        }
        encoder.dispatch_threadgroups(launch.groups, launch.threads)?;
        encoder.end_encoding();
        command.run()?;
        Ok(command.profiles())
    }
}

/// A C struct, field by field.
#[derive(Default)]
pub(crate) struct Fields(Vec<u8>);

impl Fields {
    fn add<const N: usize>(mut self, field: [u8; N]) -> Fields {
        self.0.resize(self.0.len().next_multiple_of(N), 0);
        self.0.extend(field);
        self
    }
    fn i16(self, values: &[i16]) -> Fields {
        values.iter().fold(self, |f, v| f.add(v.to_le_bytes()))
    }
    pub fn i32(self, values: &[usize]) -> Fields {
        values.iter().fold(self, |f, &v| f.add((v as i32).to_le_bytes()))
    }
    pub fn i64(self, values: &[usize]) -> Fields {
        values.iter().fold(self, |f, &v| f.add((v as i64).to_le_bytes()))
    }
    pub fn f32(self, values: &[f32]) -> Fields {
        values.iter().fold(self, |f, v| f.add(v.to_le_bytes()))
    }
    pub fn done(mut self) -> Arg {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        Arg::Inline(self.0)
    }
}

pub(crate) fn floats(count: usize) -> Arg {
    Arg::Data(noise(1, count).iter().flat_map(|v| v.to_le_bytes()).collect())
}

pub(crate) fn halves(count: usize) -> Arg {
    Arg::Data(noise(1, count).iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect())
}

pub(crate) fn of(dtype: DType, count: usize) -> Arg {
    if dtype == DType::F16 { halves(count) } else { floats(count) }
}

pub(crate) fn long(v: usize) -> Arg {
    Fields::default().i64(&[v]).done()
}

pub(crate) fn int(v: usize) -> Arg {
    Arg::Inline((v as i32).to_le_bytes().into())
}

pub(crate) fn float(v: f32) -> Arg {
    Arg::Inline(v.to_le_bytes().into())
}

pub(crate) fn ceil(a: usize, b: usize) -> u32 {
    a.div_ceil(b) as u32
}

/// How both peers spell a block format.
fn spelled(format: BlockFormat) -> String {
    format.name().replace("Q", "q")
}

/// `candle-metal-kernels`, given its folder of `.metal` files; `None` for a problem that is not counted there.
pub fn candle(folder: &Path, problem: &StandardProblem) -> Option<Result<Counted>> {
    let (file, launch) = match *problem {
        StandardProblem::Softmax { .. } | StandardProblem::RmsNorm { .. } => return None,
        StandardProblem::Gemm { size, dtype } => ("mlx_gemm.metal", candle_gemm(size, dtype)),
        StandardProblem::Gemv { n, k } => ("gemv.metal", candle_gemv(n, k)),
        StandardProblem::QuantGemv { format, n, k } => ("quantized.metal", candle_mv(format, n, k)),
        StandardProblem::QuantGemm { format, m, n, k } => ("quantized.metal", candle_mm(format, (m, n, k))),
        StandardProblem::Decode { heads, groups, keys, width } => (
            "scaled_dot_product_attention.metal",
            Launch {
                kernel: format!("sdpa_vector_float16_t_{width}"),
                groups: (1, heads as u32, 1),
                threads: (1024, 1, 1),
                memory: 0,
                constants: vec![(20, false)],
                args: vec![
                    halves(heads * width),
                    halves(groups * keys * width),
                    halves(groups * keys * width),
                    Arg::Room(heads * width * 2),
                    int(heads / groups),
                    int(keys),
                    long(keys * width),
                    long(keys * width),
                    float(1.0 / (width as f32).sqrt()),
                    float(1.0),
                ],
            },
        ),
        StandardProblem::Prefill { heads, keys, width } => {
            ("scaled_dot_product_attention.metal", candle_prefill(heads, keys, width))
        }
    };
    let run = || {
        let peer = Peer::new(&folder.join(file), vec![folder.into()], &[])?;
        Ok(counted("candle", problem, &peer.run(&launch)?))
    };
    Some(run())
}

fn candle_gemm(size: usize, dtype: DType) -> Launch {
    // What its table of tiles gives for a medium GPU and a product of this size.
    let (name, tile, simds) = match dtype {
        DType::F16 => ("f16", (64, 64, 16), (1, 2)),
        _ => ("f32", (64, 32, 32), (2, 2)),
    };
    let (bm, bn, bk) = tile;
    let params = Fields::default()
        .i32(&[size, size, size, size, size, size, size.div_ceil(bn), size.div_ceil(bm)])
        .i64(&[size * size, size * size, size * size])
        .i32(&[0, size / bk, 1]);
    let whole = [(200, bm), (201, bn), (202, bk)].map(|(index, tile)| (index, size.is_multiple_of(tile)));
    Launch {
        kernel: format!("gemm_nn_{name}_{name}_{bm}_{bn}_{bk}_{}_{}", simds.0, simds.1),
        groups: (ceil(size, bn), ceil(size, bm), 1),
        threads: (32, simds.1, simds.0),
        memory: 0,
        constants: [(10, false), (100, false), (110, false), (300, false)].into_iter().chain(whole).collect(),
        args: vec![
            of(dtype, size * size),
            of(dtype, size * size),
            Arg::Nothing,
            Arg::Room(size * size * dtype.size()),
            params.done(),
            Arg::Nothing,
            int(1),
            Fields::default().i64(&[size * size, size * size]).done(),
        ],
    }
}

fn candle_gemv(n: usize, k: usize) -> Launch {
    Launch {
        kernel: "gemv_float16_bm4_bn1_sm1_sn32_tm4_tn4_nc0_axpby0".into(),
        groups: (ceil(n, 16), 1, 1),
        threads: (32, 1, 4),
        memory: 0,
        constants: vec![],
        args: vec![
            halves(n * k),
            halves(k),
            Arg::Room(n * 2),
            Arg::Room(n * 2),
            int(k),
            int(n),
            int(k),
            float(1.0),
            float(0.0),
            int(1),
            int(1),
            long(k),
            long(0),
            long(0),
            int(1),
        ],
    }
}

fn candle_mv(format: BlockFormat, n: usize, k: usize) -> Launch {
    let (threads, rows) = match format {
        BlockFormat::Q4_K => ((4, 8, 1), 4),
        BlockFormat::Q5_K => ((2, 32, 1), 4),
        BlockFormat::Q6_K => ((2, 32, 1), 2),
        _ => ((8, 8, 1), 8),
    };
    let mut args = vec![Arg::Data(blocks(format, n, k)), floats(k), Arg::Room(n * 4)];
    args.extend([k, n, 1, 0, 0, 0, k, 1, 1, 0, 0, 0, n, 1].map(long));
    args.extend([1, 1].map(int));
    Launch {
        kernel: format!("kernel_mul_mv_{}_f32", spelled(format)),
        groups: (ceil(n, rows), 1, 1),
        threads,
        memory: 0,
        constants: vec![],
        args,
    }
}

fn candle_mm(format: BlockFormat, (m, n, k): (usize, usize, usize)) -> Launch {
    let row = format.bytes_of(k).expect("whole blocks");
    let mut args = vec![Arg::Data(blocks(format, n, k)), floats(m * k), Arg::Room(m * n * 4)];
    args.extend([k, 1, row, row * n, row * n, 1, 4, 4 * k, 4 * k * m, 4 * k * m, n, m].map(long));
    args.extend([1, 1].map(int));
    Launch {
        kernel: format!("kernel_mul_mm_{}_f32", spelled(format)),
        groups: (ceil(m, 32), ceil(n, 64), 1),
        threads: (128, 1, 1),
        memory: 8192,
        constants: vec![],
        args,
    }
}

fn candle_prefill(heads: usize, keys: usize, width: usize) -> Launch {
    let (bq, bk) = (32, if width < 128 { 32 } else { 16 });
    let steps = [heads * keys * width, keys * width, width];
    let params = Fields::default()
        .i32(&[1, heads, width, keys, keys, 1])
        .f32(&[1.0 / (width as f32).sqrt(), 1.0])
        .i32(&[keys.div_ceil(bq), keys.div_ceil(bk), keys / bq, keys / bk, keys % bq, keys % bk, 0])
        .i64(&steps.repeat(4));
    let count = heads * keys * width;
    Launch {
        kernel: format!("steel_attention_float16_bq{bq}_bk{bk}_bd{width}_wm4_wn1_maskfloat16"),
        groups: (ceil(keys, bq), heads as u32, 1),
        threads: (32, 4, 1),
        memory: 0,
        constants: vec![
            (200, keys.is_multiple_of(bq)),
            (201, keys.is_multiple_of(bk)),
            (300, false),
            (301, false),
        ],
        args: vec![halves(count), halves(count), halves(count), Arg::Room(count * 2), params.done()],
    }
}

/// `ggml-metal.metal` of llama-cpp-python 0.3.9, given the folder that holds it; `None` as above.
pub fn llama(folder: &Path, problem: &StandardProblem) -> Option<Result<Counted>> {
    let launch = match *problem {
        StandardProblem::Softmax { .. } | StandardProblem::RmsNorm { .. } => return None,
        StandardProblem::Gemm { size, dtype } => {
            llama_mm(dtype.name(), of(dtype, size * size), size * dtype.size(), (size, size, size))
        }
        StandardProblem::Gemv { n, k } => llama_mv("f16_f32_1row", halves(n * k), 2 * k, (n, k)),
        StandardProblem::QuantGemv { format, n, k } => {
            let row = format.bytes_of(k).expect("whole blocks");
            llama_mv(&format!("{}_f32", spelled(format)), Arg::Data(blocks(format, n, k)), row, (n, k))
        }
        StandardProblem::QuantGemm { format, m, n, k } => {
            let row = format.bytes_of(k).expect("whole blocks");
            llama_mm(&spelled(format), Arg::Data(blocks(format, n, k)), row, (m, n, k))
        }
        StandardProblem::Decode { heads, groups, keys, width } => {
            llama_attention((heads, groups, 1), keys, width)
        }
        StandardProblem::Prefill { heads, keys, width } => llama_attention((heads, heads, keys), keys, width),
    };
    let above = folder.parent().unwrap_or(folder).to_path_buf();
    let defines = ["GGML_METAL_USE_BF16", "GGML_METAL_HAS_BF16"];
    let run = || {
        let peer = Peer::new(&folder.join("ggml-metal.metal"), vec![above, folder.into()], &defines)?;
        Ok(counted("llama.cpp", problem, &peer.run(&launch)?))
    };
    Some(run())
}

fn llama_mv(kind: &str, weights: Arg, row: usize, (n, k): (usize, usize)) -> Launch {
    let args = Fields::default()
        .i32(&[k, n, 1])
        .i64(&[1, row, row * n, row * n])
        .i32(&[k, 1, 1])
        .i64(&[4, 4 * k, 4 * k, 4 * k])
        .i32(&[n, 1])
        .i16(&[1, 1]);
    let rows = match kind.split("_f32").next().unwrap_or(kind) {
        "q4_0" | "q8_0" | "q4_K" => 8,
        "q5_K" => 4,
        "q6_K" => 2,
        _ => 1,
    };
    Launch {
        kernel: format!("kernel_mul_mv_{kind}"),
        groups: (ceil(n, rows), 1, 1),
        threads: (32, if rows == 1 { 1 } else { 2 }, 1),
        memory: 0,
        constants: vec![],
        args: vec![args.done(), weights, floats(k), Arg::Room(n * 4)],
    }
}

fn llama_mm(kind: &str, weights: Arg, row: usize, (m, n, k): (usize, usize, usize)) -> Launch {
    let args = Fields::default()
        .i32(&[k, 1])
        .i64(&[row, row * n, row * n])
        .i32(&[1])
        .i64(&[4, 4 * k, 4 * k * m, 4 * k * m])
        .i32(&[n, m])
        .i16(&[1, 1]);
    Launch {
        kernel: format!("kernel_mul_mm_{kind}_f32"),
        groups: (ceil(m, 32), ceil(n, 64), 1),
        threads: (128, 1, 1),
        memory: 8192,
        constants: vec![],
        args: vec![args.done(), weights, floats(m * k), Arg::Room(m * n * 4)],
    }
}

fn llama_attention((heads, groups, queries): (usize, usize, usize), keys: usize, width: usize) -> Launch {
    let vector = queries == 1;
    let simds: usize = if vector { 2 } else { 4 };
    let kv = [2 * width, 2 * width * keys, 2 * width * keys * groups];
    let args = Fields::default()
        .i32(&[queries, heads, 1])
        .i64(&[4 * width, 4 * width * queries, 4 * width * queries * heads])
        .i32(&[keys, groups, 1])
        .i64(&kv)
        .i64(&kv)
        .i64(&[2 * keys])
        .i32(&[heads, queries])
        .f32(&[1.0 / (width as f32).sqrt(), 0.0, 1.0, 1.0])
        .i16(&[1])
        .f32(&[0.0]);
    let memory = if vector {
        (width + 4 * 32 * simds + width * simds) * 2
    } else {
        (8 * (width + 2 * (2 * 32 + 8) * simds) + 16 * 32 * simds) * 2
    };
    let mask = Arg::Data(vec![0; queries.next_multiple_of(8) * keys * 2]);
    Launch {
        kernel: format!("kernel_flash_attn_ext_{}f16_h{width}", if vector { "vec_" } else { "" }),
        groups: (if vector { 1 } else { ceil(queries, 8) }, heads as u32, 1),
        threads: (32, simds as u32, 1),
        memory: memory.next_multiple_of(16) as u32,
        constants: vec![],
        args: vec![
            args.done(),
            floats(heads * queries * width),
            halves(groups * keys * width),
            halves(groups * keys * width),
            mask,
            Arg::Room(heads * queries * width * 4),
        ],
    }
}
