//! Small graphs: the loops of a tape, called step by step on values of at most one block.

use super::access;
use super::loops::{self, Loop1, Loop2, Loop3};
use super::workspace::{Workspace, with_workspace};
use crate::backend::CpuBackend;
use crate::memory::memory;
use crate::profile;
use smallvec::SmallVec;
use std::sync::OnceLock;
use wootz_backend::Buffer;
use wootz_ir::elementwise::{Accepts, MAX_ARITY};
use wootz_ir::scalar::{Builder, Instr, Program};
use wootz_ir::{DType, ElementwiseOp, Number, Result, ScalarType, SmallGraph, SmallStep};

/// Compute types.
const TYPES: usize = 7;

/// Bytes of the widest compute type.
const WIDE: usize = 8;

/// An op on operands of one compute type.
enum Kernel {
    One(Loop1),
    Two(Loop2),
    Three(Loop3),
    /// Operands are passed in another order than they are given.
    Swapped(Loop2),
    /// Any instructions, the one that computes the result, and the bytes of a result.
    Many {
        code: Vec<Code>,
        result: usize,
        size: usize,
    },
}

/// An instruction; its value is the code's at the same position.
enum Code {
    Operand(usize),
    Literal(Number, ScalarType),
    One(Loop1, usize),
    Two(Loop2, [usize; 2]),
    Three(Loop3, [usize; 3]),
}

impl Code {
    fn new(instr: &Instr) -> Code {
        let undefined = "the op table defines functions only on types that support them";
        let places = |registers: [u16; 3]| registers.map(usize::from);
        match *instr {
            Instr::Load(operand, _) => Code::Operand(operand as usize),
            Instr::Literal(value, t) => Code::Literal(value, t),
            Instr::Unary(f, t, a) => Code::One(loops::unary(f, t).expect(undefined), a as usize),
            Instr::Binary(f, t, a, b) => {
                Code::Two(loops::binary(f, t).expect(undefined), [a as usize, b as usize])
            }
            Instr::Fma(t, a, b, c) => Code::Three(loops::fma(t).expect(undefined), places([a, b, c])),
            Instr::Select(t, a, b, c) => Code::Three(loops::select(t), places([a, b, c])),
            Instr::Convert(from, to, a) => Code::One(loops::convert(from, to).expect(undefined), a as usize),
            Instr::Narrow(dtype, a) => Code::One(loops::narrow(dtype).expect(undefined), a as usize),
            Instr::Param(..) => unreachable!("a definition has no parameters"),
        }
    }
}

impl Kernel {
    fn new(program: &Program) -> Kernel {
        let code: Vec<Code> = program.instrs.iter().map(Code::new).collect();
        match &code[..] {
            [Code::Operand(0), Code::One(f, 0)] => Kernel::One(*f),
            [Code::Operand(0), Code::Operand(1), Code::Two(f, [0, 1])] => Kernel::Two(*f),
            [Code::Operand(0), Code::Operand(1), Code::Two(f, [1, 0])] => Kernel::Swapped(*f),
            [Code::Operand(0), Code::Operand(1), Code::Operand(2), Code::Three(f, [0, 1, 2])] => {
                Kernel::Three(*f)
            }
            _ => {
                let size = program.result_type(0).dtype().size();
                Kernel::Many { code, result: program.results[0] as usize, size }
            }
        }
    }

    /// The kernel of an op on operands of a compute type; a condition is a bool.
    fn of(op: ElementwiseOp, operand: ScalarType) -> &'static Kernel {
        static KNOWN: [[OnceLock<Kernel>; TYPES]; ElementwiseOp::ALL.len()] =
            [const { [const { OnceLock::new() }; TYPES] }; ElementwiseOp::ALL.len()];
        KNOWN[op as usize][operand as usize].get_or_init(|| {
            let row = op.row();
            let mut types = [operand; MAX_ARITY];
            if row.accepts == Accepts::Condition {
                types[0] = ScalarType::Bool;
            }
            Kernel::new(&op.program(&types[..row.arity]))
        })
    }

    /// The kernel of a conversion.
    fn cast(from: DType, to: DType) -> &'static Kernel {
        static KNOWN: [[OnceLock<Kernel>; TYPES]; TYPES] =
            [const { [const { OnceLock::new() }; TYPES] }; TYPES];
        KNOWN[from.compute() as usize][to.compute() as usize].get_or_init(|| {
            let builder = Builder::new();
            let result = builder.emit(Instr::Load(0, from.compute())).cast(from, to).reg;
            Kernel::new(&builder.finish(vec![result]))
        })
    }

    /// # Safety
    /// The operands hold `n` values each of the types that the kernel was made for, `out` has room for `n` of its result, and
    /// is nobody else's.
    unsafe fn run(&self, operands: &[*const u8], out: *mut u8, n: usize, workspace: &Workspace) {
        // SAFETY: the caller's promise is the contract of the loops.
        unsafe {
            match self {
                Kernel::One(f) => f(operands[0], out, n),
                Kernel::Two(f) => f(operands[0], operands[1], out, n),
                Kernel::Swapped(f) => f(operands[1], operands[0], out, n),
                Kernel::Three(f) => f(operands[0], operands[1], operands[2], out, n),
                Kernel::Many { code, result, size } => {
                    let value = run_code(code, *result, operands, out, n, workspace);
                    // An op may leave its operand as it is, as rounding does an integer.
                    if value != out.cast_const() {
                        std::ptr::copy_nonoverlapping(value, out, n * size);
                    }
                }
            }
        }
    }
}

/// Runs instructions one after the other; returns where the value of `result` is.
///
/// # Safety
/// As for [`Kernel::run`].
unsafe fn run_code(
    code: &[Code],
    result: usize,
    operands: &[*const u8],
    out: *mut u8,
    n: usize,
    workspace: &Workspace,
) -> *const u8 {
    let mut values: SmallVec<[*const u8; 16]> = SmallVec::new();
    for (i, each) in code.iter().enumerate() {
        if let Code::Operand(operand) = each {
            values.push(operands[*operand]);
            continue;
        }
        let to = if i == result { out } else { workspace.reserve(n * WIDE) };
        // SAFETY: instructions read values of earlier ones, and there is room for `n` of the widest type.
        unsafe {
            match each {
                Code::Operand(_) => unreachable!("passed on before"),
                Code::Literal(value, t) => access::fill(*value, *t, to, n),
                Code::One(f, a) => f(values[*a], to, n),
                Code::Two(f, [a, b]) => f(values[*a], values[*b], to, n),
                Code::Three(f, [a, b, c]) => f(values[*a], values[*b], values[*c], to, n),
            }
        }
        values.push(to.cast_const());
    }
    values[result]
}

/// An op of two operands with `n` numbers each of a dtype that is computed as it is stored, and gives such numbers without a
/// fault. Returns whether it was computed: not if the op takes several loops, or if the steps of plans are being timed.
///
/// # Panics
/// If there is no room for `n` numbers.
pub fn tiny_binary(
    op: ElementwiseOp,
    dtype: DType,
    (a, b): (&[u64; 8], &[u64; 8]),
    n: usize,
    out: &mut [u64; 8],
) -> bool {
    assert!(n * dtype.size() <= size_of_val(a), "{n} numbers of {dtype} have no room");
    if op.row().arity != 2 || dtype.compute().dtype() != dtype || profile::is_watched() {
        return false;
    }
    let (a, b) = (a.as_ptr().cast(), b.as_ptr().cast());
    match Kernel::of(op, dtype.compute()) {
        // SAFETY: operands and result have room for `n` numbers, and the result is nobody else's. It has no other type than the
        // operands: comparisons are narrower, and nothing is wider.
        Kernel::Two(f) => unsafe { f(a, b, out.as_mut_ptr().cast(), n) },
        // SAFETY: as above.
        Kernel::Swapped(f) => unsafe { f(b, a, out.as_mut_ptr().cast(), n) },
        Kernel::One(_) | Kernel::Three(_) | Kernel::Many { .. } => return false,
    }
    true
}

/// Runs a small graph; `None` if it met a fault, or if the steps of plans are being timed.
pub fn run(backend: &CpuBackend, graph: &SmallGraph<Buffer>) -> Result<Option<Buffer>> {
    if profile::is_watched() {
        return Ok(None);
    }
    let Some((_, dtype)) = graph.steps.last() else { return Ok(None) };
    let n = graph.count;
    let result = Buffer::new(backend.reserve_small(n * dtype.size(), "a result")?);
    let Some(out) = memory(&result).map(|memory| memory.start()) else { return Ok(None) };
    let complete = with_workspace(|workspace| {
        // What a run that did not come to its end has noted is not this one's.
        loops::take_fault();
        walk(graph, out, workspace).is_some() && loops::take_fault().is_none()
    });
    Ok(complete.then_some(result))
}

/// Computes every step, the last one into `out`; `None` if a leaf is not as the graph says.
fn walk(graph: &SmallGraph<Buffer>, out: *mut u8, workspace: &Workspace) -> Option<()> {
    let n = graph.count;
    let mut values: SmallVec<[*const u8; 16]> = SmallVec::new();
    for (i, (step, dtype)) in graph.steps.iter().enumerate() {
        let room = || if i + 1 == graph.steps.len() { out } else { workspace.reserve(n * WIDE) };
        let value = match step {
            SmallStep::Leaf(buffer, offset) => elements(buffer, *offset, n, *dtype)?,
            SmallStep::Spread(buffer, offset) => {
                let (from, to) = (elements(buffer, *offset, 1, *dtype)?, room());
                // SAFETY: the element is inside its buffer, and there is room for `n` of the widest type.
                unsafe { access::reader(*dtype)(from, 0, to, n) };
                to.cast_const()
            }
            SmallStep::Constant(value) => {
                let to = room();
                // SAFETY: there is room for `n` of the widest type.
                unsafe { access::fill(*value, dtype.compute(), to, n) };
                to.cast_const()
            }
            SmallStep::Elementwise(op, places) => {
                let places = &places[..op.row().arity];
                // The last operand has the type that the op computes in; a condition comes first.
                let operand = graph.steps[*places.last()? as usize].1.compute();
                let operands: SmallVec<[*const u8; MAX_ARITY]> =
                    places.iter().map(|&place| values[place as usize]).collect();
                let to = room();
                // SAFETY: the operands are values of earlier steps, of the dtypes that the node was checked for; there is room
                // for `n` of the widest type, and `out` has room for the result's.
                unsafe { Kernel::of(*op, operand).run(&operands, to, n, workspace) };
                to.cast_const()
            }
            SmallStep::Cast(place) => {
                let (from, to) = (graph.steps[*place as usize].1, room());
                // SAFETY: the operand is the value of an earlier step, of dtype `from`; there is room for `n` of the widest type.
                unsafe { Kernel::cast(from, *dtype).run(&[values[*place as usize]], to, n, workspace) };
                to.cast_const()
            }
        };
        values.push(value);
    }
    Some(())
}

/// Where `n` elements of a buffer are, if it has them and they are aligned.
fn elements(buffer: &Buffer, offset: usize, n: usize, dtype: DType) -> Option<*const u8> {
    let memory = memory(buffer)?;
    let (start, end) = (offset.checked_mul(dtype.size())?, offset.checked_add(n)?.checked_mul(dtype.size())?);
    if end > buffer.len() || !(memory.start() as usize).is_multiple_of(dtype.size()) {
        return None;
    }
    memory.fill(None);
    Some(memory.start().wrapping_add(start).cast_const())
}
