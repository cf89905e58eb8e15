//! Device memory: pooled buffers, and transfers to and from them.

use crate::device::{Gpu, failure};
use crate::groups::Groups;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wootz_backend::{Buffer, DeviceMemory, Pool};
use wootz_ir::{Error, Result};

/// A buffer of the pool. With it go the bind groups, which would keep it alive.
pub(crate) struct Block {
    buffer: wgpu::Buffer,
    id: u64,
    groups: Arc<Groups>,
}

static BLOCKS: AtomicU64 = AtomicU64::new(0);

impl Drop for Block {
    fn drop(&mut self) {
        self.groups.forget();
    }
}

/// A buffer of the device.
pub(crate) struct GpuMemory {
    bytes: usize,
    buffer: Option<Block>,
    size: usize,
    gpu: Arc<Gpu>,
}

const USAGES: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE
    .union(wgpu::BufferUsages::UNIFORM)
    .union(wgpu::BufferUsages::COPY_SRC)
    .union(wgpu::BufferUsages::COPY_DST);

/// Bytes that one transfer moves, so that staging memory stays small.
const PIECE: usize = 64 << 20;

fn make(gpu: &Gpu, size: usize, usage: wgpu::BufferUsages) -> Option<wgpu::Buffer> {
    let descriptor =
        wgpu::BufferDescriptor { label: None, size: size as u64, usage, mapped_at_creation: false };
    gpu.guarded("allocating", || gpu.device.create_buffer(&descriptor)).ok()
}

fn take<B>(
    gpu: &Gpu,
    pool: &Pool<B>,
    bytes: usize,
    op: &str,
    make: impl Fn(usize) -> Option<B>,
) -> Result<(B, usize)> {
    let fits = bytes <= gpu.info.buffer_limit.saturating_sub(256);
    let taken = if fits { pool.take(bytes, make) } else { None };
    if let (None, Some(lost)) = (&taken, gpu.lost()) {
        return Err(failure(format!("the device was lost ({lost})")));
    }
    taken.ok_or_else(|| Error::OutOfMemory {
        device: crate::NAME.into(),
        op: op.into(),
        requested: bytes as u128,
        live: gpu.pool.stats().live,
        limit: if fits { gpu.info.memory_limit } else { gpu.info.buffer_limit },
    })
}

impl GpuMemory {
    /// Allocates memory with unspecified content; `op` is its purpose.
    pub fn new(gpu: &Arc<Gpu>, bytes: usize, op: &str) -> Result<GpuMemory> {
        let block = |size| {
            let id = BLOCKS.fetch_add(1, Ordering::Relaxed);
            Some(Block { buffer: make(gpu, size, USAGES)?, id, groups: gpu.groups.clone() })
        };
        let (buffer, size) = take(gpu, &gpu.pool, bytes, op, block)?;
        Ok(GpuMemory { bytes, buffer: Some(buffer), size, gpu: gpu.clone() })
    }

    /// wgpu's buffer.
    pub fn raw(&self) -> &wgpu::Buffer {
        &self.block().buffer
    }

    /// A unique id of the buffer.
    pub fn id(&self) -> u64 {
        self.block().id
    }

    fn block(&self) -> &Block {
        self.buffer.as_ref().expect("memory has its buffer until it is dropped")
    }

    /// The device that it is memory of.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Host bytes to the device. Words that are written in part keep their other bytes.
    pub fn upload(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        let (mut offset, mut bytes) = (offset, bytes);
        let unaligned = offset % 4;
        if unaligned != 0 && !bytes.is_empty() {
            let count = bytes.len().min(4 - unaligned);
            self.mend(offset - unaligned, unaligned, &bytes[..count])?;
            (offset, bytes) = (offset + count, &bytes[count..]);
        }
        let whole = bytes.len() / 4 * 4;
        for (i, piece) in bytes[..whole].chunks(PIECE).enumerate() {
            self.gpu.guarded("uploading", || {
                self.gpu.queue.write_buffer(self.raw(), (offset + i * PIECE) as u64, piece);
                // Staging memory is given back piece by piece.
                if whole > PIECE {
                    self.gpu.queue.submit([]);
                }
            })?;
            if whole > PIECE {
                let _ = self.gpu.device.poll(wgpu::PollType::wait_indefinitely());
            }
        }
        if whole < bytes.len() {
            self.mend(offset + whole, 0, &bytes[whole..])?;
        }
        Ok(())
    }

    /// Replaces some bytes of the word at `word`.
    fn mend(&self, word: usize, first: usize, bytes: &[u8]) -> Result<()> {
        let mut whole = [0u8; 4];
        // Beyond the end there is nothing to keep.
        if first > 0 || word + 4 <= self.bytes {
            self.download(word, &mut whole)?;
        }
        whole[first..first + bytes.len()].copy_from_slice(bytes);
        self.gpu.guarded("uploading", || self.gpu.queue.write_buffer(self.raw(), word as u64, &whole))
    }

    /// Bytes of the device to the host, after everything that was submitted.
    pub fn download(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let mut at = offset;
        for piece in bytes.chunks_mut(PIECE) {
            let first = at / 4 * 4;
            let span = (at + piece.len()).next_multiple_of(4) - first;
            let words = self.fetch(first, span)?;
            piece.copy_from_slice(&words[at - first..][..piece.len()]);
            at += piece.len();
        }
        Ok(())
    }

    fn fetch(&self, offset: usize, span: usize) -> Result<Vec<u8>> {
        let gpu = &self.gpu;
        let staging = Staging::new(gpu, span)?;
        let submission = gpu.guarded("downloading", || {
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(self.raw(), offset as u64, staging.raw(), 0, span as u64);
            gpu.queue.submit([encoder.finish()])
        })?;
        staging.read(submission, span)
    }
}

/// A buffer that the host reads from, returned to its pool when dropped.
pub(crate) struct Staging {
    gpu: Arc<Gpu>,
    buffer: Option<wgpu::Buffer>,
    size: usize,
}

impl Staging {
    pub fn new(gpu: &Arc<Gpu>, bytes: usize) -> Result<Staging> {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let (buffer, size) =
            take(gpu, &gpu.staging, bytes, "a transfer to the host", |size| make(gpu, size, usage))?;
        Ok(Staging { gpu: gpu.clone(), buffer: Some(buffer), size })
    }

    pub fn raw(&self) -> &wgpu::Buffer {
        self.buffer.as_ref().expect("memory has its buffer until it is dropped")
    }

    /// The first bytes, once a submission has ended.
    pub fn read(&self, submission: wgpu::SubmissionIndex, bytes: usize) -> Result<Vec<u8>> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let slice = self.raw().slice(..bytes as u64);
        slice.map_async(wgpu::MapMode::Read, move |result| {
            let _ = sender.send(result);
        });
        self.gpu.wait(submission)?;
        match receiver.recv() {
            Ok(Ok(())) => {}
            Ok(Err(e)) => return Err(failure(format!("cannot map memory: {e}")).caused_by(e)),
            Err(_) => return Err(failure("cannot map memory: the device was lost")),
        }
        let view = slice
            .get_mapped_range()
            .map_err(|e| failure(format!("cannot read mapped memory: {e}")).caused_by(e))?;
        let data = view.to_vec();
        drop(view);
        self.raw().unmap();
        Ok(data)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.gpu.staging.give(buffer, self.size);
        }
    }
}

impl Drop for GpuMemory {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            self.gpu.pool.give(buffer, self.size);
        }
    }
}

impl DeviceMemory for GpuMemory {
    fn len(&self) -> usize {
        self.bytes
    }

    fn host_bytes(&self) -> Option<&[u8]> {
        None
    }
}

/// The device memory behind a buffer.
pub(crate) fn memory(buffer: &Buffer) -> Result<&GpuMemory> {
    buffer.memory::<GpuMemory>().ok_or_else(|| failure("cannot bind a buffer of another device"))
}
