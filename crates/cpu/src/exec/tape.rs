//! Tapes: fused code compiled to a list of block loops, run over ranges of an iteration space.
//!
//! A block is up to [`BLOCK`] consecutive points. Each value of the program has a slot, which is either a register (a
//! block in the worker's workspace) or, for loads whose memory layout suits the loops, a pointer into the buffer.
//! Registers are allocated by liveness, so that a long chain stays in the L1 cache.

use super::access::{self, ReadRun, WriteRun};
use super::loops::{self, Loop1, Loop2, Loop3};
use super::narrow;
use super::workspace::Workspace;
use crate::copy::{EndOfStreams, stream_piece};
use crate::stop;
use smallvec::SmallVec;
use std::ops::Range;
use wootz_ir::scalar::Instr;
use wootz_ir::{DType, Layout, Number, ScalarType};
use wootz_plan::{BufferId, Fused, Source, Store};

/// Points per block: four KiB of f32.
pub const BLOCK: usize = 1024;
/// Results of this size and more are written past the caches.
const STREAM_BYTES: usize = 8 << 20;
/// Bytes of a register: a block of the widest type.
const REGISTER: usize = BLOCK * 8;

type Slot = u16;

enum Code {
    One(Loop1, Slot, Slot),
    Two(Loop2, Slot, Slot, Slot),
    Three(Loop3, Slot, Slot, Slot, Slot),
}

/// How a slot gets its value at the start of a block.
enum Fill {
    /// Points into a buffer, `offset` elements from its start.
    Direct { buffer: BufferId, offset: usize, size: usize },
    /// Points at the kernel's values for this block.
    Kernel,
    /// Copied into a register, run by run.
    Strided { buffer: BufferId, layout: Layout, size: usize, wide: usize, read: ReadRun, register: u16 },
    /// Computed from the position.
    Iota { layout: Layout, register: u16 },
}

/// Values that are the same at every point, written once per worker.
enum Uniform {
    Literal(Number, DType),
    Param(u32, DType),
    Load { buffer: BufferId, offset: usize, size: usize, read: ReadRun },
}

/// How a result leaves.
struct Sink {
    slot: Slot,
    buffer: BufferId,
    size: usize,
    write: WriteRun,
    layout: Layout,
    /// The store is one contiguous run in the compute type itself: code writes straight into it.
    direct: bool,
    /// The slot is written by code, so that its pointer may be turned to the destination.
    computed: bool,
    /// Bytes of a value in the compute type.
    wide: usize,
    /// Larger than the caches: written with non-temporal stores, so that its lines are not read first.
    streams: bool,
}

/// Compiled fused code.
pub struct Tape {
    /// The narrow dtype that the code is computed in, instead of its compute type.
    narrow: Option<DType>,
    /// Points in the iteration space.
    pub len: usize,
    /// The type of the first result.
    pub result_type: ScalarType,
    fills: Vec<(Slot, Fill)>,
    uniforms: Vec<(u16, Uniform)>,
    code: Vec<Code>,
    /// For each slot: its register.
    registers: Vec<u16>,
    register_count: usize,
    results: Vec<Slot>,
    sinks: Vec<Sink>,
    /// The first result is written by code, not passed on from a load or a constant.
    result_computed: bool,
    /// Bytes of one kernel value.
    kernel_size: usize,
    plain: Option<Plain>,
}

/// The entire input is in memory in row-major order and in the compute type.
#[derive(Clone, Copy)]
struct Plain {
    buffer: BufferId,
    byte_offset: usize,
}

impl Tape {
    /// Compiles code and the stores of its results (none for an input, whose value a kernel reads), given the dtypes of the
    /// plan's parameters.
    pub fn new(fused: &Fused, stores: &[Store], params: &[DType]) -> Tape {
        match narrow::program(fused, stores, params) {
            Some((program, dtype)) => {
                Tape::compiled(&Fused { program, ..fused.clone() }, stores, Some(dtype))
            }
            None => Tape::compiled(fused, stores, None),
        }
    }

    fn compiled(fused: &Fused, stores: &[Store], narrow: Option<DType>) -> Tape {
        let program = &fused.program;
        let mut tape = Tape {
            narrow,
            len: fused.shape.count(),
            result_type: program.results.first().map_or(ScalarType::F32, |_| program.result_type(0)),
            fills: Vec::new(),
            uniforms: Vec::new(),
            code: Vec::new(),
            registers: vec![u16::MAX; program.instrs.len()],
            register_count: 0,
            results: program.results.clone(),
            sinks: Vec::new(),
            result_computed: program
                .results
                .first()
                .is_some_and(|&r| is_computed(&program.instrs[r as usize])),
            kernel_size: kernel_size(fused),
            plain: None,
        };
        tape.assign_registers(fused);
        for (i, instr) in program.instrs.iter().enumerate() {
            tape.add(i as Slot, instr, fused);
        }
        for (store, &slot) in stores.iter().zip(&program.results) {
            tape.add_sink(store, slot, program);
        }
        if let (Some(_), [(_, Fill::Direct { buffer, offset, size })]) =
            (fused.plain(), tape.fills.as_slice())
        {
            tape.plain = Some(Plain { buffer: *buffer, byte_offset: offset * size });
        }
        tape
    }

    /// Registers by liveness. Loads are all filled before any code runs, and uniform values once for all blocks, so both
    /// have registers from the start; a uniform keeps its own for good. A result never shares a register with its own
    /// arguments: loops assume no overlap.
    fn assign_registers(&mut self, fused: &Fused) {
        let instrs = &fused.program.instrs;
        let mut last_use = vec![0usize; instrs.len()];
        for (i, instr) in instrs.iter().enumerate() {
            instr.arguments().for_each(|a| last_use[a as usize] = i);
        }
        for &r in &fused.program.results {
            last_use[r as usize] = usize::MAX;
        }
        for (i, _) in instrs.iter().enumerate().filter(|(_, instr)| !is_computed(instr)) {
            self.registers[i] = self.fresh_register();
        }
        let mut free: Vec<u16> = Vec::new();
        for (i, instr) in instrs.iter().enumerate().filter(|(_, instr)| is_computed(instr)) {
            self.registers[i] = free.pop().unwrap_or_else(|| self.fresh_register());
            let mut seen: SmallVec<[u16; 3]> = SmallVec::new();
            for a in instr.arguments() {
                let ends = last_use[a as usize] == i && !is_uniform(&instrs[a as usize], fused);
                if ends && !seen.contains(&a) {
                    seen.push(a);
                    free.push(self.registers[a as usize]);
                }
            }
        }
    }

    fn fresh_register(&mut self) -> u16 {
        self.register_count += 1;
        self.register_count as u16 - 1
    }

    fn add(&mut self, slot: Slot, instr: &Instr, fused: &Fused) {
        let undefined = "the op table defines functions only on types that support them";
        match *instr {
            Instr::Load(index, _) => self.add_load(slot, &fused.loads[index as usize]),
            Instr::Param(index, t) => {
                self.add_uniform(slot, Uniform::Param(index, self.narrow_of(t).unwrap_or(t.dtype())))
            }
            Instr::Literal(value, t) => {
                self.add_uniform(slot, Uniform::Literal(value, self.narrow_of(t).unwrap_or(t.dtype())))
            }
            Instr::Unary(f, t, a) => {
                let code =
                    self.narrow_of(t).map_or_else(|| loops::unary(f, t), |dtype| narrow::unary(f, dtype));
                self.code.push(Code::One(code.expect(undefined), a, slot));
            }
            Instr::Binary(f, t, a, b) => {
                let code =
                    self.narrow_of(t).map_or_else(|| loops::binary(f, t), |dtype| narrow::binary(f, dtype));
                self.code.push(Code::Two(code.expect(undefined), a, b, slot));
            }
            Instr::Fma(t, a, b, c) => {
                self.code.push(Code::Three(loops::fma(t).expect(undefined), a, b, c, slot));
            }
            Instr::Select(t, c, a, b) => {
                let code = self.narrow_of(t).map_or_else(|| loops::select(t), narrow::select);
                self.code.push(Code::Three(code, c, a, b, slot));
            }
            Instr::Convert(from, to, a) => {
                let code = self
                    .narrow_of(to)
                    .map_or_else(|| loops::convert(from, to), |dtype| Some(narrow::from_truth(dtype)));
                self.code.push(Code::One(code.expect(undefined), a, slot));
            }
            Instr::Narrow(dtype, a) => {
                self.code.push(Code::One(loops::narrow(dtype).expect(undefined), a, slot));
            }
        }
    }

    /// The narrow dtype that values of a compute type have here, if they do.
    fn narrow_of(&self, t: ScalarType) -> Option<DType> {
        self.narrow.filter(|_| t != ScalarType::Bool)
    }

    /// The compute type of elements of a dtype.
    fn held(&self, dtype: DType) -> DType {
        if self.narrow == Some(dtype) { dtype } else { dtype.compute().dtype() }
    }

    fn reader(&self, dtype: DType) -> ReadRun {
        if self.held(dtype) == dtype { access::same_reader(dtype.size()) } else { access::reader(dtype) }
    }

    fn writer(&self, dtype: DType) -> WriteRun {
        if self.held(dtype) == dtype { access::same_writer(dtype.size()) } else { access::writer(dtype) }
    }

    fn add_uniform(&mut self, slot: Slot, uniform: Uniform) {
        self.uniforms.push((self.registers[slot as usize], uniform));
    }

    fn add_load(&mut self, slot: Slot, load: &wootz_plan::Load) {
        let register = self.registers[slot as usize];
        let size = load.dtype.size();
        let stored_as_computed = self.held(load.dtype) == load.dtype;
        let layout = load.layout.clone();
        let fill = match load.source {
            Source::Kernel => Fill::Kernel,
            Source::Iota => Fill::Iota { layout, register },
            Source::Buffer(buffer) if is_broadcast(&layout) => {
                let read = self.reader(load.dtype);
                return self.add_uniform(slot, Uniform::Load { buffer, offset: layout.offset, size, read });
            }
            Source::Buffer(buffer) if stored_as_computed && layout.is_contiguous() => {
                Fill::Direct { buffer, offset: layout.offset, size }
            }
            Source::Buffer(buffer) => {
                let (wide, read) = (self.held(load.dtype).size(), self.reader(load.dtype));
                Fill::Strided { buffer, layout, size, wide, read, register }
            }
        };
        self.fills.push((slot, fill));
    }

    fn add_sink(&mut self, store: &Store, slot: Slot, program: &wootz_ir::scalar::Program) {
        let computed = is_computed(&program.instrs[slot as usize]);
        let exact = self.held(store.dtype) == store.dtype;
        let write = self.writer(store.dtype);
        self.sinks.push(Sink {
            slot,
            buffer: store.buffer,
            size: store.dtype.size(),
            write,
            direct: exact && store.layout.is_contiguous(),
            computed,
            layout: store.layout.clone(),
            wide: self.held(store.dtype).size(),
            streams: self.len * store.dtype.size() >= STREAM_BYTES,
        });
    }

    /// Bytes of workspace that a worker needs to run the tape.
    pub fn workspace(&self) -> usize {
        self.register_count * REGISTER
    }

    /// The location of the value, if it is stored contiguously.
    ///
    /// # Safety
    /// `run` binds the buffers of the plan, each as large as the plan says.
    pub unsafe fn in_memory(&self, run: &RunBuffers<'_>) -> Option<*const u8> {
        // SAFETY: the offset lies inside the buffer.
        self.plain.map(|p| unsafe { run.pointers[p.buffer as usize].add(p.byte_offset).cast_const() })
    }

    /// The start of the store, if results can be written to it directly.
    ///
    /// # Safety
    /// As for [`Tape::in_memory`].
    pub unsafe fn store_in_memory(&self, run: &RunBuffers<'_>) -> Option<*mut u8> {
        let [sink] = self.sinks.as_slice() else { return None };
        let passes = self.code.is_empty() && matches!(self.fills.as_slice(), [(_, Fill::Kernel)]);
        // SAFETY: the offset lies inside the buffer.
        (passes && sink.direct).then(|| unsafe { sink.at(run, 0) })
    }

    /// A worker's state for running the tape: slots that are registers point to the workspace.
    ///
    /// # Safety
    /// `run` binds the buffers of the plan; nobody else uses `workspace` while the frame lives.
    pub unsafe fn begin(&self, run: &RunBuffers<'_>, workspace: &Workspace, points: usize) -> Frame {
        let base = workspace.reserve(self.workspace());
        // SAFETY: the workspace has room for all registers.
        let slots = self.registers.iter().map(|&r| unsafe { base.add(r as usize * REGISTER) }).collect();
        // An empty operand has no element to read, not even the one that a broadcast repeats.
        let n = if self.len == 0 { 0 } else { points.min(BLOCK) };
        let uniforms = if n == 0 { &[] } else { self.uniforms.as_slice() };
        for (register, uniform) in uniforms {
            // SAFETY: the workspace has room for all registers, and the uniform load reads one element inside its buffer.
            unsafe {
                let register = base.add(*register as usize * REGISTER);
                match uniform {
                    Uniform::Literal(value, dtype) => access::fill_elements(*value, *dtype, register, n),
                    Uniform::Param(i, dtype) => {
                        access::fill_elements(run.params[*i as usize], *dtype, register, n);
                    }
                    Uniform::Load { buffer, offset, size, read } => {
                        read(run.pointers[*buffer as usize].add(offset * size), 0, register, n);
                    }
                }
            }
        }
        Frame { slots, base }
    }

    /// Computes and stores the points of `range`. `kernel` points at the kernel's value for the first of them.
    ///
    /// # Safety
    /// `frame` is from [`Tape::begin`] for the same run with at least as many points; the points exist; no other worker
    /// stores any of them.
    pub unsafe fn store(
        &self,
        run: &RunBuffers<'_>,
        frame: &mut Frame,
        range: Range<usize>,
        kernel: *const u8,
    ) {
        let kernel_size = self.kernel_size;
        let first = range.start;
        let _end = self.sinks.iter().any(|sink| sink.streams).then_some(EndOfStreams);
        for start in range.clone().step_by(BLOCK) {
            let n = BLOCK.min(range.end - start);
            // SAFETY: blocks stay inside the range.
            unsafe {
                for sink in self.sinks.iter().filter(|s| s.in_place()) {
                    frame.slots[sink.slot as usize] = sink.at(run, start);
                }
                self.block(run, frame, start, n, kernel.wrapping_add((start - first) * kernel_size));
                for sink in self.sinks.iter().filter(|s| !s.in_place()) {
                    sink.write(run, frame.slots[sink.slot as usize], start, n);
                }
            }
        }
    }

    /// Computes the points of `range` into `out`, contiguous and in the compute type.
    ///
    /// # Safety
    /// As for [`Tape::store`]; `out` has room for the range.
    pub unsafe fn load(&self, run: &RunBuffers<'_>, frame: &mut Frame, range: Range<usize>, out: *mut u8) {
        let slot = self.results[0];
        let size = self.result_type.dtype().size();
        for start in range.clone().step_by(BLOCK) {
            let n = BLOCK.min(range.end - start);
            // SAFETY: blocks stay inside the range, and `out` has room for it.
            unsafe {
                let to = out.add((start - range.start) * size);
                if self.result_computed {
                    frame.slots[slot as usize] = to;
                }
                self.block(run, frame, start, n, std::ptr::null());
                if !self.result_computed {
                    std::ptr::copy_nonoverlapping(frame.slots[slot as usize], to, n * size);
                }
            }
        }
    }

    /// Computes the points `start..start + n`, at most a block.
    ///
    /// # Safety
    /// As for [`Tape::store`].
    unsafe fn block(
        &self,
        run: &RunBuffers<'_>,
        frame: &mut Frame,
        start: usize,
        n: usize,
        kernel: *const u8,
    ) {
        stop::check();
        for (slot, fill) in &self.fills {
            // SAFETY: layouts stay inside their buffers for points that exist; a register holds a block.
            unsafe {
                match fill {
                    Fill::Direct { buffer, offset, size } => {
                        let at = (offset + start) * size;
                        frame.slots[*slot as usize] = run.pointers[*buffer as usize].add(at);
                    }
                    Fill::Kernel => frame.slots[*slot as usize] = kernel.cast_mut(),
                    Fill::Strided { buffer, layout, size, wide, read, register } => {
                        let from = run.pointers[*buffer as usize].cast_const();
                        let to = frame.base.add(*register as usize * REGISTER);
                        match (short_rows(layout), *size == *wide, *size) {
                            (true, true, 4) => fill_short::<u32>(layout, start, n, from.cast(), to.cast()),
                            (true, true, 8) => fill_short::<u64>(layout, start, n, from.cast(), to.cast()),
                            _ => for_each_run(layout, start, n, |done, position, stride, length| {
                                read(from.add(position * size), stride, to.add(done * wide), length);
                            }),
                        }
                    }
                    Fill::Iota { layout, register } => {
                        let to = frame.base.add(*register as usize * REGISTER);
                        for_each_run(layout, start, n, |done, position, stride, length| {
                            access::iota(position as i64, stride as i64, to.add(done * 8), length);
                        });
                    }
                }
            }
        }
        let at = |slot: Slot| frame.slots[slot as usize];
        for code in &self.code {
            // SAFETY: every slot points at `n` elements of its type; results and arguments do not overlap.
            unsafe {
                match *code {
                    Code::One(f, a, d) => f(at(a), at(d), n),
                    Code::Two(f, a, b, d) => f(at(a), at(b), at(d), n),
                    Code::Three(f, a, b, c, d) => f(at(a), at(b), at(c), at(d), n),
                }
            }
        }
    }
}

impl Sink {
    /// Whether code writes straight into the store.
    fn in_place(&self) -> bool {
        self.direct && self.computed && !self.streams
    }

    /// Where point `start` of a direct sink goes.
    ///
    /// # Safety
    /// The point exists.
    unsafe fn at(&self, run: &RunBuffers<'_>, start: usize) -> *mut u8 {
        // SAFETY: a contiguous store has its points in order.
        unsafe { run.pointers[self.buffer as usize].add((self.layout.offset + start) * self.size) }
    }

    /// Writes a block of values to the points `start..start + n`.
    ///
    /// # Safety
    /// The points exist, and `from` has `n` values.
    unsafe fn write(&self, run: &RunBuffers<'_>, from: *const u8, start: usize, n: usize) {
        // SAFETY: the layout stays inside the buffer.
        unsafe {
            if self.direct {
                let from = std::slice::from_raw_parts(from, n * self.size);
                let to = std::slice::from_raw_parts_mut(self.at(run, start), n * self.size);
                return if self.streams { stream_piece(from, to) } else { to.copy_from_slice(from) };
            }
            let to = run.pointers[self.buffer as usize];
            for_each_run(&self.layout, start, n, |done, position, stride, length| {
                (self.write)(from.add(done * self.wide), to.add(position * self.size), stride, length);
            });
        }
    }
}

/// A worker's state while it runs a tape.
pub struct Frame {
    slots: SmallVec<[*mut u8; 16]>,
    base: *mut u8,
}

/// The buffers and parameters of one run.
pub struct RunBuffers<'a> {
    /// For each buffer of the plan: its first byte.
    pub pointers: &'a [*mut u8],
    /// Scalar parameters.
    pub params: &'a [Number],
    /// Whether a row's result must not depend on how many rows there are.
    pub batch_invariant: bool,
}

// SAFETY: the pointers stay valid for the run, and steps share them by the plan's rules: no two workers write the
// same element, and barriers stand between steps that conflict.
unsafe impl Sync for RunBuffers<'_> {}

fn is_computed(instr: &Instr) -> bool {
    !matches!(instr, Instr::Load(..) | Instr::Param(..) | Instr::Literal(..))
}

fn kernel_size(fused: &Fused) -> usize {
    let kernel = fused.loads.iter().find(|load| load.source == Source::Kernel);
    kernel.map_or(0, |load| load.dtype.compute().dtype().size())
}

/// Whether every point reads the same element.
fn is_broadcast(layout: &Layout) -> bool {
    layout.shape.iter().zip(&layout.strides).all(|(&extent, &stride)| extent <= 1 || stride == 0)
}

fn is_uniform(instr: &Instr, fused: &Fused) -> bool {
    match instr {
        Instr::Param(..) | Instr::Literal(..) => true,
        Instr::Load(i, _) => {
            let load = &fused.loads[*i as usize];
            matches!(load.source, Source::Buffer(_)) && is_broadcast(&load.layout)
        }
        _ => false,
    }
}

/// Whether the innermost axis is too short for a call per row.
fn short_rows(layout: &Layout) -> bool {
    layout.shape.rank() >= 2 && (2..=16).contains(&layout.shape[layout.shape.rank() - 1])
}

/// Copies the points `start..start + n` of a layout with short rows: rows of the last axis that follow each other along the axis
/// before it are copied by one loop.
///
/// # Safety
/// The points exist, their elements are readable, and `to` has room for them.
unsafe fn fill_short<T: Copy>(layout: &Layout, start: usize, n: usize, from: *const T, to: *mut T) {
    let rank = layout.shape.rank();
    let (extent, stride) = (layout.shape[rank - 1], layout.strides[rank - 1]);
    let (rows, row_stride) = (layout.shape[rank - 2], layout.strides[rank - 2]);
    let mut done = 0;
    while done < n {
        let coords = layout.shape.unravel(start + done);
        let position = layout.position(&coords) as isize;
        let (row, column) = (coords[rank - 2], coords[rank - 1]);
        // SAFETY: positions of points that exist are readable, and no more than `n` are written.
        unsafe {
            let (from, to) = (from.offset(position), to.add(done));
            if column != 0 || n - done < extent {
                let length = (extent - column).min(n - done);
                for i in 0..length {
                    *to.add(i) = *from.offset(i as isize * stride);
                }
                done += length;
                continue;
            }
            let count = (rows - row).min((n - done) / extent);
            match extent {
                2 => copy_rows::<T, 2>(from, (row_stride, stride), to, count),
                3 => copy_rows::<T, 3>(from, (row_stride, stride), to, count),
                4 => copy_rows::<T, 4>(from, (row_stride, stride), to, count),
                8 => copy_rows::<T, 8>(from, (row_stride, stride), to, count),
                _ => {
                    for r in 0..count {
                        for i in 0..extent {
                            let at = r as isize * row_stride + i as isize * stride;
                            *to.add(r * extent + i) = *from.offset(at);
                        }
                    }
                }
            }
            done += count * extent;
        }
    }
}

/// Copies `count` rows of `N` elements.
///
/// # Safety
/// Every element is readable, and `to` has room for all.
#[inline(always)]
unsafe fn copy_rows<T: Copy, const N: usize>(
    from: *const T,
    (row_stride, stride): (isize, isize),
    to: *mut T,
    count: usize,
) {
    for r in 0..count {
        for i in 0..N {
            // SAFETY: the caller's promise.
            unsafe { *to.add(r * N + i) = *from.offset(r as isize * row_stride + i as isize * stride) };
        }
    }
}

/// Calls `f(points done, position, stride, length)` for each run of the innermost axis in `start..start + n`.
#[inline]
fn for_each_run(layout: &Layout, start: usize, n: usize, mut f: impl FnMut(usize, usize, isize, usize)) {
    let rank = layout.shape.rank();
    if rank == 0 {
        return f(0, layout.offset, 0, n);
    }
    let mut coords = layout.shape.unravel(start);
    let mut position = layout.position(&coords) as isize;
    let (extent, stride) = (layout.shape[rank - 1], layout.strides[rank - 1]);
    let mut done = 0;
    while done < n {
        let length = (extent - coords[rank - 1]).min(n - done);
        f(done, position as usize, stride, length);
        done += length;
        // On to the next row: the innermost coordinate starts over and the next axes carry.
        position -= coords[rank - 1] as isize * stride;
        coords[rank - 1] = 0;
        for axis in (0..rank - 1).rev() {
            coords[axis] += 1;
            position += layout.strides[axis];
            if coords[axis] < layout.shape[axis] {
                break;
            }
            position -= layout.shape[axis] as isize * layout.strides[axis];
            coords[axis] = 0;
        }
    }
}
