//! Differences between the ABIs of MPI libraries: the types of handles, and the values of constants.
//!
//! In MPICH (and Intel MPI, MVAPICH, Cray's) handles are integers; in the MPI 5 standard ABI, small integers in
//! pointers; in Open MPI, addresses of objects that the library exports.

use std::ffi::{c_int, c_void};
use wootz_ir::DType;

/// A binary interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// MPICH's, which Intel MPI, MVAPICH and Cray MPICH share.
    Mpich,
    /// The one that the MPI 5 standard defines.
    Standard,
    /// Open MPI's.
    OpenMpi,
}

impl Abi {
    /// Human-readable name.
    pub fn name(self) -> &'static str {
        match self {
            Abi::Mpich => "MPICH",
            Abi::Standard => "MPI 5 standard",
            Abi::OpenMpi => "Open MPI",
        }
    }
}

/// A communicator, datatype, op or request.
pub trait Handle: Copy + Send + Sync + 'static {
    fn from_bits(bits: usize) -> Self;
    fn bits(self) -> usize;
}

impl Handle for c_int {
    fn from_bits(bits: usize) -> c_int {
        bits as c_int
    }

    fn bits(self) -> usize {
        self as u32 as usize
    }
}

/// A handle of pointer width.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Wide(pub *mut c_void);

// SAFETY: the pointer is never followed here; it is a name that the library knows.
unsafe impl Send for Wide {}
// SAFETY: the pointer is never followed here; it is a name that the library knows.
unsafe impl Sync for Wide {}

impl Handle for Wide {
    fn from_bits(bits: usize) -> Wide {
        Wide(std::ptr::with_exposed_provenance_mut(bits))
    }

    fn bits(self) -> usize {
        self.0.expose_provenance()
    }
}

/// Datatypes that messages are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

impl Element {
    const COUNT: usize = 10;

    /// The element that a dtype travels as: MPI has no half precision that every library knows, and no byte that is a bool.
    pub fn of(dtype: DType) -> Element {
        match dtype {
            DType::Bool | DType::U8 => Element::U8,
            DType::U16 | DType::F16 | DType::BF16 => Element::U16,
            DType::U32 => Element::U32,
            DType::U64 => Element::U64,
            DType::I8 => Element::I8,
            DType::I16 => Element::I16,
            DType::I32 => Element::I32,
            DType::I64 => Element::I64,
            DType::F32 => Element::F32,
            DType::F64 => Element::F64,
        }
    }
}

/// Reductions that every library has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinOp {
    Sum,
    Max,
    Min,
}

/// The constants of an interface.
pub struct Constants<H> {
    pub comm_world: H,
    pub errors_return: H,
    elements: [H; Element::COUNT],
    ops: [H; 3],
    pub any_source: c_int,
    pub thread_serialized: c_int,
    pub thread_multiple: c_int,
    /// Which integer of a status is the source; the tag is the next one.
    pub source_at: usize,
}

impl<H: Handle> Constants<H> {
    pub fn element(&self, element: Element) -> H {
        self.elements[element as usize]
    }

    pub fn op(&self, op: BuiltinOp) -> H {
        self.ops[op as usize]
    }
}

/// MPICH's constants.
pub fn mpich() -> Constants<c_int> {
    let handle = |bits: u32| bits as c_int;
    Constants {
        comm_world: handle(0x4400_0000),
        errors_return: handle(0x5400_0001),
        elements: [
            0x4c00_013b,
            0x4c00_023c,
            0x4c00_043d,
            0x4c00_083e,
            0x4c00_0137,
            0x4c00_0238,
            0x4c00_0439,
            0x4c00_083a,
            0x4c00_040a,
            0x4c00_080b,
        ]
        .map(handle),
        ops: [0x5800_0003, 0x5800_0001, 0x5800_0002].map(handle),
        any_source: -2,
        thread_serialized: 2,
        thread_multiple: 3,
        source_at: 2,
    }
}

/// The standard's constants.
pub fn standard() -> Constants<Wide> {
    let handle = Wide::from_bits;
    Constants {
        comm_world: handle(0x101),
        errors_return: handle(0x143),
        elements: [0x241, 0x249, 0x251, 0x259, 0x240, 0x248, 0x250, 0x258, 0x210, 0x214].map(handle),
        ops: [0x21, 0x23, 0x22].map(handle),
        any_source: -1,
        thread_serialized: 2048,
        thread_multiple: 4096,
        source_at: 0,
    }
}

/// Open MPI's constants: addresses that `symbol` finds by name.
pub fn open_mpi<E>(symbol: impl Fn(&str) -> Result<usize, E>) -> Result<Constants<Wide>, E> {
    let handle = |name: &str| symbol(name).map(Wide::from_bits);
    let element = |name: &str| handle(&format!("ompi_mpi_{name}"));
    Ok(Constants {
        comm_world: handle("ompi_mpi_comm_world")?,
        errors_return: handle("ompi_mpi_errors_return")?,
        elements: [
            element("uint8_t")?,
            element("uint16_t")?,
            element("uint32_t")?,
            element("uint64_t")?,
            element("int8_t")?,
            element("int16_t")?,
            element("int32_t")?,
            element("int64_t")?,
            element("float")?,
            element("double")?,
        ],
        ops: [handle("ompi_mpi_op_sum")?, handle("ompi_mpi_op_max")?, handle("ompi_mpi_op_min")?],
        any_source: -1,
        thread_serialized: 2,
        thread_multiple: 3,
        source_at: 0,
    })
}
