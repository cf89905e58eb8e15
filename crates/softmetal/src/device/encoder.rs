//! Encoders: record commands and check them against the API's rules.

use super::buffer::Buffer;
use super::command::{Bound, Command, CommandBuffer, Dispatch, Grid, Resource};
use super::pipeline::Pipeline;
use super::sampler::Sampler;
use super::texture::{Texture, TextureKind};
use crate::error::{Error, Result};
use crate::source::binding::{BindingKind, MAX_BUFFER_INDEX, MAX_SAMPLER_INDEX, MAX_TEXTURE_INDEX};
use std::sync::Arc;

/// Three extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u32, pub u32, pub u32);

impl From<u32> for Size {
    fn from(n: u32) -> Size {
        Size(n, 1, 1)
    }
}

impl From<(u32, u32)> for Size {
    fn from((x, y): (u32, u32)) -> Size {
        Size(x, y, 1)
    }
}

impl From<(u32, u32, u32)> for Size {
    fn from((x, y, z): (u32, u32, u32)) -> Size {
        Size(x, y, z)
    }
}

/// Whether dispatches of an encoder may overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DispatchType {
    /// Each dispatch sees the results of the ones before.
    Serial,
    /// Only a barrier orders dispatches.
    Concurrent,
}

/// Records kernel launches. Ends when dropped.
#[derive(Debug)]
pub struct ComputeEncoder<'a> {
    command: &'a CommandBuffer,
    kind: DispatchType,
    pipeline: Option<Pipeline>,
    bound: Vec<Option<Bound>>,
    textures: Vec<Option<Texture>>,
    samplers: Vec<u64>,
    resources: Vec<Resource>,
    group_lengths: Vec<u32>,
}

const SLOTS: usize = MAX_BUFFER_INDEX as usize + 1;

impl<'a> ComputeEncoder<'a> {
    pub(crate) fn new(command: &'a CommandBuffer, kind: DispatchType) -> ComputeEncoder<'a> {
        command.push(Command::Barrier);
        ComputeEncoder {
            command,
            kind,
            pipeline: None,
            bound: vec![None; SLOTS],
            textures: Vec::new(),
            samplers: Vec::new(),
            resources: Vec::new(),
            group_lengths: vec![0; SLOTS],
        }
    }

    /// Sets the kernel.
    pub fn set_pipeline(&mut self, pipeline: &Pipeline) {
        self.pipeline = Some(pipeline.clone());
    }

    /// Binds a buffer from a byte offset.
    pub fn set_buffer(&mut self, index: u32, buffer: &Buffer, offset: usize) -> Result<()> {
        self.index(index)?;
        if offset > buffer.length() {
            return Err(self.fail(format!(
                "buffer {index}: offset {offset} is past the end of its {} bytes",
                buffer.length()
            )));
        }
        self.bound[index as usize] = Some(Bound::Buffer(self.command.hold(buffer), offset));
        Ok(())
    }

    /// Binds a copy of a few bytes, at most 4 KiB.
    pub fn set_bytes(&mut self, index: u32, bytes: &[u8]) -> Result<()> {
        self.index(index)?;
        let limit = self.command.device.limits().max_inline_bytes as usize;
        if bytes.len() > limit || bytes.is_empty() {
            return Err(self
                .fail(format!("buffer {index}: {} inline bytes; there must be 1 to {limit}", bytes.len())));
        }
        let mut words = vec![0u64; bytes.len().div_ceil(16) * 2];
        bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        self.bound[index as usize] = Some(Bound::Bytes(Arc::from(words), bytes.len()));
        Ok(())
    }

    /// Binds a texture.
    pub fn set_texture(&mut self, index: u32, texture: &Texture) -> Result<()> {
        if index > MAX_TEXTURE_INDEX {
            return Err(self.fail(format!(
                "texture index {index} is above {MAX_TEXTURE_INDEX}, the highest that Metal has"
            )));
        }
        let slots = self.textures.len().max(index as usize + 1);
        self.textures.resize(slots, None);
        self.textures[index as usize] = Some(texture.clone());
        Ok(())
    }

    /// Binds a sampler.
    pub fn set_sampler(&mut self, index: u32, sampler: &Sampler) -> Result<()> {
        if index > MAX_SAMPLER_INDEX {
            return Err(self.fail(format!(
                "sampler index {index} is above {MAX_SAMPLER_INDEX}, the highest that Metal has"
            )));
        }
        let slots = self.samplers.len().max(index as usize + 1);
        self.samplers.resize(slots, 0);
        self.samplers[index as usize] = sampler.gpu_resource_id();
        Ok(())
    }

    /// Says that kernels reach a buffer through a pointer in an argument buffer.
    pub fn use_buffer(&mut self, buffer: &Buffer) {
        self.resources.push(Resource::Buffer(self.command.hold(buffer)));
    }

    /// Says that kernels reach a texture through an argument buffer.
    pub fn use_texture(&mut self, texture: &Texture) {
        self.resources.push(Resource::Texture(texture.clone()));
    }

    /// Sets the length of dynamic threadgroup memory at an index; a multiple of 16 bytes, as Metal asks.
    pub fn set_threadgroup_memory_length(&mut self, index: u32, length: u32) -> Result<()> {
        self.index(index)?;
        if !length.is_multiple_of(16) {
            return Err(
                self.fail(format!("threadgroup memory {index}: {length} bytes is not a multiple of 16"))
            );
        }
        self.group_lengths[index as usize] = length;
        Ok(())
    }

    /// Launches exactly `grid` threads; groups at the edges are smaller.
    pub fn dispatch_threads(&mut self, grid: impl Into<Size>, threads: impl Into<Size>) -> Result<()> {
        let Size(x, y, z) = grid.into();
        self.dispatch(Grid::Threads([x, y, z]), threads.into())
    }

    /// Launches whole groups.
    pub fn dispatch_threadgroups(&mut self, groups: impl Into<Size>, threads: impl Into<Size>) -> Result<()> {
        let Size(x, y, z) = groups.into();
        self.dispatch(Grid::Groups([x, y, z]), threads.into())
    }

    /// Launches as many groups as three `uint` at `offset` of a buffer say when the command runs.
    pub fn dispatch_threadgroups_indirect(
        &mut self,
        buffer: &Buffer,
        offset: usize,
        threads: impl Into<Size>,
    ) -> Result<()> {
        if !offset.is_multiple_of(4) || buffer.range(offset, 12).is_err() {
            return Err(self.fail(format!("indirect arguments at offset {offset} need 12 bytes and an alignment of 4; the buffer has {} bytes", buffer.length())));
        }
        let held = self.command.hold(buffer);
        self.dispatch(Grid::Indirect(held, offset), threads.into())
    }

    /// Orders all dispatches before it against all after it.
    pub fn memory_barrier(&mut self) {
        self.command.push(Command::Barrier);
    }

    /// Orders all uses of these buffers before it against all after it.
    pub fn memory_barrier_for(&mut self, buffers: &[&Buffer]) {
        let held = buffers.iter().map(|b| self.command.hold(b)).collect();
        self.command.push(Command::BarrierFor(held));
    }

    /// Ends encoding.
    pub fn end_encoding(self) {}

    fn index(&self, index: u32) -> Result<()> {
        if index > MAX_BUFFER_INDEX {
            return Err(self.fail(format!("index {index} is above {MAX_BUFFER_INDEX}, Metal's maximum")));
        }
        Ok(())
    }

    fn fail(&self, message: String) -> Error {
        let kernel = self.pipeline.as_ref().map_or(String::new(), |p| format!("kernel `{}`: ", p.name()));
        self.command.note(Error::Invalid(format!("{kernel}{message}")))
    }

    fn dispatch(&mut self, grid: Grid, Size(x, y, z): Size) -> Result<()> {
        let Some(pipeline) = self.pipeline.clone() else {
            return Err(self.fail("a dispatch needs a pipeline".into()));
        };
        let threads = [x, y, z];
        self.check_sizes(&pipeline, &grid, threads)?;
        self.check_bindings(&pipeline)?;
        self.command.push(Command::Dispatch(Box::new(Dispatch {
            pipeline,
            bound: self.bound.clone(),
            textures: self.textures.clone(),
            samplers: self.samplers.clone(),
            resources: self.resources.clone(),
            group_lengths: self.group_lengths.clone(),
            grid,
            threads,
        })));
        if self.kind == DispatchType::Serial {
            self.command.push(Command::Barrier);
        }
        Ok(())
    }

    fn check_sizes(&self, p: &Pipeline, grid: &Grid, threads: [u32; 3]) -> Result<()> {
        let count = threads.iter().map(|&n| u64::from(n)).product::<u64>();
        let max = p.max_total_threads_per_threadgroup();
        if count == 0 || count > u64::from(max) {
            return Err(
                self.fail(format!("{count} threads per threadgroup {threads:?}; there must be 1 to {max}"))
            );
        }
        if let Grid::Threads(g) = grid
            && g.iter().map(|&n| u128::from(n)).product::<u128>() > u128::from(u64::MAX)
        {
            return Err(self.fail(format!("a grid of {g:?} threads is too large")));
        }
        let limit = self.command.device.limits().max_threadgroup_memory;
        let dynamic: u32 = p
            .arguments()
            .iter()
            .filter(|a| a.binding.kind == BindingKind::Threadgroup && a.active)
            .map(|a| self.group_lengths[a.binding.index as usize])
            .sum();
        let fixed = p.static_threadgroup_memory_length();
        if fixed + dynamic > limit {
            return Err(self.fail(format!(
                "{} bytes of threadgroup memory ({fixed} of variables, {dynamic} set); the limit is {limit}",
                fixed + dynamic
            )));
        }
        Ok(())
    }

    /// Everything that the kernel may touch must be bound, and large enough for one element.
    fn check_bindings(&self, p: &Pipeline) -> Result<()> {
        for a in p.arguments().iter().filter(|a| a.active) {
            let (i, name) = (a.binding.index, &a.binding.name);
            match a.binding.kind {
                BindingKind::Buffer | BindingKind::Constant => match &self.bound[i as usize] {
                    None => return Err(self.fail(format!("buffer {i} (`{name}`) is not bound"))),
                    Some(Bound::Bytes(_, n)) if *n < a.type_size as usize => {
                        return Err(self.fail(format!(
                            "buffer {i} (`{name}`): {n} bytes given, but `{}` has {}",
                            a.binding.type_name, a.type_size
                        )));
                    }
                    Some(Bound::Buffer(b, offset)) => self.check_buffer(a, &b.get()?, *offset)?,
                    Some(Bound::Bytes(..)) => {}
                },
                BindingKind::Threadgroup if self.group_lengths[i as usize] == 0 => {
                    return Err(self.fail(format!(
                        "threadgroup memory {i} (`{name}`) has no length; call set_threadgroup_memory_length"
                    )));
                }
                BindingKind::Texture => self.check_textures(a)?,
                BindingKind::Sampler => {
                    let count = (a.type_size / 8).max(1);
                    if let Some(missing) =
                        (i..i + count).find(|&k| self.samplers.get(k as usize).is_none_or(|bits| *bits == 0))
                    {
                        return Err(self.fail(format!("sampler {missing} (`{name}`) is not bound")));
                    }
                }
                BindingKind::Threadgroup | BindingKind::Builtin => {}
            }
        }
        Ok(())
    }

    /// Textures must be bound, and hold what the kernel's type says.
    fn check_textures(&self, a: &super::pipeline::Argument) -> Result<()> {
        let (first, name, declared) = (a.binding.index, &a.binding.name, &a.binding.type_name);
        let words: Vec<&str> = declared.split(' ').collect();
        let has = |w: &str| words.contains(&w);
        let class = if has("float") || has("half") {
            Some("float")
        } else if has("uint") || has("ushort") {
            Some("uint")
        } else if has("int") || has("short") {
            Some("int")
        } else {
            None
        };
        let count = (a.type_size / 8).max(1);
        for i in first..first + count {
            let Some(t) = self.textures.get(i as usize).and_then(Option::as_ref) else {
                // An array may have holes, as long as no kernel looks there.
                if count > 1 {
                    continue;
                }
                return Err(self.fail(format!("texture {i} (`{name}`) is not bound")));
            };
            let d = t.descriptor();
            if class.is_some_and(|c| c != d.format.scalar()) {
                return Err(self.fail(format!(
                    "texture {i} (`{name}`) is `{declared}`, and the texels of {} are {}",
                    d.format.name(),
                    d.format.scalar()
                )));
            }
            if let Some(kind) = words.iter().find_map(|w| kind_of(w)).filter(|k| *k != d.kind) {
                return Err(self.fail(format!(
                    "texture {i} (`{name}`) is `{declared}`, which takes {kind:?}, and {:?} is bound",
                    d.kind
                )));
            }
        }
        Ok(())
    }

    fn check_buffer(&self, a: &super::pipeline::Argument, b: &Buffer, offset: usize) -> Result<()> {
        let (i, name) = (a.binding.index, &a.binding.name);
        let is_reference = a.binding.type_name.ends_with('&');
        if is_reference && b.length() - offset < a.type_size as usize {
            return Err(self.fail(format!(
                "buffer {i} (`{name}`): {} bytes after the offset, but `{}` has {}",
                b.length() - offset,
                a.binding.type_name,
                a.type_size
            )));
        }
        if a.type_align > 1 && !(b.gpu_address() as usize + offset).is_multiple_of(a.type_align as usize) {
            return Err(self.fail(format!(
                "buffer {i} (`{name}`): offset {offset} is not a multiple of the alignment {} of `{}`",
                a.type_align, a.binding.type_name
            )));
        }
        Ok(())
    }
}

/// Records copies and fills. Ends when dropped.
#[derive(Debug)]
pub struct BlitEncoder<'a> {
    command: &'a CommandBuffer,
}

impl<'a> BlitEncoder<'a> {
    pub(crate) fn new(command: &'a CommandBuffer) -> BlitEncoder<'a> {
        command.push(Command::Barrier);
        BlitEncoder { command }
    }

    /// Copies bytes between buffers; the ranges may lie in one buffer if they do not overlap.
    pub fn copy(
        &mut self,
        from: &Buffer,
        from_offset: usize,
        to: &Buffer,
        to_offset: usize,
        length: usize,
    ) -> Result<()> {
        from.range(from_offset, length)
            .and_then(|()| to.range(to_offset, length))
            .map_err(|e| self.command.note(e))?;
        if Arc::ptr_eq(&from.0, &to.0) && from_offset < to_offset + length && to_offset < from_offset + length
        {
            return Err(self.command.note(Error::Invalid(format!("a copy of {length} bytes within one buffer overlaps itself (from {from_offset} to {to_offset})"))));
        }
        self.command.push(Command::Copy {
            from: (self.command.hold(from), from_offset),
            to: (self.command.hold(to), to_offset),
            length,
        });
        self.command.push(Command::Barrier);
        Ok(())
    }

    /// Fills bytes with a value.
    pub fn fill(&mut self, to: &Buffer, offset: usize, length: usize, value: u8) -> Result<()> {
        to.range(offset, length).map_err(|e| self.command.note(e))?;
        self.command.push(Command::Fill { to: (self.command.hold(to), offset), length, value });
        self.command.push(Command::Barrier);
        Ok(())
    }

    /// Ends encoding.
    pub fn end_encoding(self) {}
}

/// The shape of texture that a type takes.
fn kind_of(word: &str) -> Option<TextureKind> {
    Some(match word {
        "texture1d" => TextureKind::D1,
        "texture1d_array" => TextureKind::D1Array,
        "texture2d" | "depth2d" => TextureKind::D2,
        "texture2d_array" | "depth2d_array" => TextureKind::D2Array,
        "texture3d" => TextureKind::D3,
        "texturecube" | "depthcube" => TextureKind::Cube,
        "texturecube_array" | "depthcube_array" => TextureKind::CubeArray,
        "texture2d_ms" | "depth2d_ms" => TextureKind::D2Multisample,
        "texture2d_ms_array" | "depth2d_ms_array" => TextureKind::D2MultisampleArray,
        "texture_buffer" => TextureKind::Buffer,
        _ => return None,
    })
}
