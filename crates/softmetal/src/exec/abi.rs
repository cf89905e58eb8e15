//! The structs that compiled kernels and the device share; `shim/abi.h` mirrors them field by field.

use super::worker::Worker;
use super::{collective, log};
use std::ffi::{c_char, c_void};

/// Computes a collective for the active lanes; gives the lanes whose result is undefined.
pub type Compute = Option<unsafe extern "C" fn(*mut *mut c_void, u64) -> u64>;

/// What kernels call.
#[repr(C)]
pub struct Runtime {
    collective: unsafe extern "C" fn(*mut Lane, *mut c_void, Compute, *const c_char, u32, u32),
    barrier: unsafe extern "C" fn(*mut Lane, u32, *const c_char, u32),
    access: unsafe extern "C" fn(*mut Lane, *const u8, u64, u32, *const c_void),
    count: unsafe extern "C" fn(*mut Lane, u32, u64),
    log: unsafe extern "C" fn(*mut Lane, *const c_char, *const u64, *const u8, u32),
    texture: unsafe extern "C" fn(*mut Lane, *const TextureInfo, u32, u32, u32, u32, u32, *const c_void),
}

/// Levels that a texture can have.
pub const MAX_LEVELS: usize = 16;

/// A texture as kernels see it: levels, then images (layers, faces, slices or samples), then rows.
#[repr(C)]
#[derive(Debug)]
pub struct TextureInfo {
    /// The first texel.
    pub data: *mut u8,
    /// A number of `TextureKind`.
    pub kind: u32,
    /// What the bits of a component mean.
    pub texel_class: u32,
    /// Components of a texel.
    pub components: u32,
    /// Bits of a component.
    pub component_bits: u32,
    /// Bytes of a texel.
    pub texel_bytes: u32,
    /// Whether blue comes first.
    pub bgra: u32,
    /// Whether colours are stored as sRGB.
    pub srgb: u32,
    /// Texels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Slices of a 3D texture.
    pub depth: u32,
    /// Elements of an array.
    pub layers: u32,
    /// Images of a level.
    pub slices: u32,
    /// Levels.
    pub levels: u32,
    /// Samples of a texel.
    pub samples: u32,
    /// Where levels begin.
    pub level_offset: [u64; MAX_LEVELS],
    /// Bytes of one image, by level.
    pub image_bytes: [u64; MAX_LEVELS],
    /// Bytes of one row, by level.
    pub row_bytes: [u64; MAX_LEVELS],
}

// SAFETY: the pointer is a device address, kept alive by the texture's buffer.
unsafe impl Send for TextureInfo {}
// SAFETY: the value does not change after it was made.
unsafe impl Sync for TextureInfo {}

/// The one table.
pub static RUNTIME: Runtime = Runtime {
    collective: collective::collective,
    barrier: collective::barrier,
    access: collective::access,
    count: collective::count,
    log: log::log,
    texture: collective::texture,
};

/// A collective that only some lanes may join.
pub const ALL_LANES: u32 = 1;
/// A collective that orders the memory of a simdgroup.
pub const SIMD_FENCE: u32 = 2;

/// An access that writes.
pub const WRITES: u32 = 1;
/// An access that may be unaligned.
pub const UNALIGNED: u32 = 2;
/// An atomic access.
pub const ATOMIC: u32 = 4;

/// One running threadgroup.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct GroupInfo {
    /// Device addresses by buffer index.
    pub buffers: [*mut u8; 31],
    /// Offsets of dynamic threadgroup memory by index.
    pub group_offset: [u32; 31],
    /// Threadgroup memory.
    pub group_memory: *mut u8,
    /// Position of the group in the grid.
    pub group_position: [u32; 3],
    /// Number of groups.
    pub groups_per_grid: [u32; 3],
    /// Threads in this group, smaller at ragged edges.
    pub threads_per_group: [u32; 3],
    /// Threads per group as dispatched.
    pub nominal_threads: [u32; 3],
    /// Threads in the grid.
    pub threads_per_grid: [u32; 3],
    /// Lanes per simdgroup.
    pub simd_width: u32,
    /// Product of `threads_per_group`.
    pub thread_count: u32,
    /// Textures by index.
    pub textures: *const *const TextureInfo,
    /// Samplers by index.
    pub samplers: *const u64,
}

// SAFETY: the pointers are device addresses; whoever runs a dispatch keeps their buffers alive.
unsafe impl Send for GroupInfo {}
// SAFETY: the value does not change during a dispatch; kernels synchronise their accesses as Metal asks them to.
unsafe impl Sync for GroupInfo {}

/// One GPU thread.
#[repr(C)]
#[derive(Debug)]
pub struct Lane {
    /// Its group.
    pub group: *const GroupInfo,
    /// Position in the group.
    pub position: [u32; 3],
    /// Index in the group.
    pub index: u32,
    /// Index in the simdgroup.
    pub lane: u32,
    /// Simdgroup in the group.
    pub simd: u32,
    /// Set when all lanes of the simdgroup met and none has passed another meeting point since.
    pub in_step: u32,
    /// The worker that runs it.
    pub worker: *mut Worker,
}

/// A function that tables of functions may hold.
#[repr(C)]
pub struct Visible {
    /// Its name, or null at the end of a list.
    pub name: *const c_char,
    /// Its code.
    pub address: *const c_void,
}

/// Size and alignment of what an argument points to.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ArgInfo {
    /// Bytes.
    pub size: u32,
    /// Alignment.
    pub align: u32,
    /// Zero when a function constant switches the argument off.
    pub active: u32,
}
