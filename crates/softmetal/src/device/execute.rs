//! Runs the commands of a committed buffer.

use super::buffer::Buffer;
use super::command::{Bound, Command, CommandInner, Dispatch, Grid, Resource};
use super::device::Device;
use crate::check::{BoundRange, DispatchCheck};
use crate::error::{Error, Result};
use crate::exec::abi::{GroupInfo, TextureInfo};
use crate::exec::job::Job;
use crate::exec::worker::Worker;
use crate::profile::DispatchProfile;
use crate::source::binding::{Access, BindingKind};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Runs command buffers of one queue, on its own thread.
pub(crate) struct Executor {
    device: Device,
    worker: Box<Worker>,
    section: u32,
}

/// Seconds since the first use of a device in this process.
fn clock() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

impl Executor {
    pub fn new(device: Device) -> Executor {
        Executor { device, worker: Worker::new(), section: 0 }
    }

    /// Runs everything; the first failure ends the command buffer, not the queue.
    pub fn run(&mut self, command: &CommandInner) {
        let commands = std::mem::take(&mut command.state.lock().commands);
        let start = clock();
        let mut profiles = Vec::new();
        let order = self.order(&commands);
        let mut outcome = Ok(());
        for i in order {
            outcome = self.one(&commands[i], &mut profiles);
            if outcome.is_err() {
                break;
            }
        }
        drop(commands);
        command.finish(outcome, (start, clock()), profiles);
    }

    /// In shuffle mode, dispatches between two barriers run in another order.
    fn order(&self, commands: &[Command]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..commands.len()).collect();
        let Some(seed) = self.device.0.options.shuffle else { return order };
        let mut state = seed | 1;
        let mut start = 0;
        while start < order.len() {
            let end = (start..order.len())
                .find(|&k| !matches!(commands[order[k]], Command::Dispatch(_)))
                .unwrap_or(order.len());
            for k in (start + 1..end).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                order.swap(k, start + (state >> 33) as usize % (k - start + 1));
            }
            start = end + 1;
        }
        order
    }

    fn one(&mut self, c: &Command, profiles: &mut Vec<DispatchProfile>) -> Result<()> {
        match c {
            Command::Dispatch(d) => profiles.extend(self.dispatch(d)?),
            Command::Barrier => self.new_section(),
            Command::BarrierFor(buffers) => {
                for buffer in buffers {
                    let buffer = buffer.get()?;
                    if let Some(s) = &self.device.0.shadow {
                        s.order(buffer.0.pointer as usize);
                    }
                }
            }
            Command::Copy { from, to, length } => {
                let (a, b) = (from.0.get()?, to.0.get()?);
                // SAFETY: the encoder checked both ranges and that they do not overlap.
                unsafe {
                    std::ptr::copy_nonoverlapping(a.0.pointer.add(from.1), b.0.pointer.add(to.1), *length)
                };
            }
            Command::Fill { to, length, value } => {
                let b = to.0.get()?;
                // SAFETY: the encoder checked the range.
                unsafe { std::ptr::write_bytes(b.0.pointer.add(to.1), *value, *length) };
            }
            Command::Signal(e, v) => e.signal(*v),
            Command::Wait(e, v) => {
                let limit = self.device.0.options.time_limit;
                if !e.wait(*v, limit.max(Duration::from_secs(1))) {
                    return Err(Error::Invalid(format!(
                        "waited {} s for an event to reach {v}; it is at {}",
                        limit.as_secs_f64(),
                        e.signaled_value()
                    )));
                }
                self.new_section();
            }
        }
        Ok(())
    }

    fn new_section(&mut self) {
        if let Some(s) = &self.device.0.shadow {
            self.section = s.next_group();
        }
    }

    fn dispatch(&mut self, d: &Dispatch) -> Result<Option<DispatchProfile>> {
        // Handles to all buffers keep them alive until the dispatch ends.
        let mut keep: Vec<Buffer> = Vec::new();
        let mut template = self.template(d, &mut keep)?;
        // Kernels read these tables while the dispatch runs.
        let textures: Vec<*const TextureInfo> =
            d.textures.iter().map(|t| t.as_ref().map_or(std::ptr::null(), |t| &raw const t.0.info)).collect();
        (template.textures, template.samplers) = (textures.as_ptr(), d.samplers.as_ptr());
        if template.groups_per_grid.contains(&0) {
            return Ok(None);
        }
        let options = &self.device.0.options;
        template.simd_width = self.device.0.limits.simd_width;
        let total = template.groups_per_grid.iter().map(|&n| u64::from(n)).product::<u64>();
        if total > u64::from(u32::MAX) {
            return Err(Error::Invalid(format!(
                "kernel `{}`: {total} threadgroups are too many",
                d.pipeline.name()
            )));
        }
        let check = self.device.0.shadow.as_ref().map(|s| {
            let mut ranges = bound_ranges(d, &keep);
            ranges.extend(texture_ranges(d));
            Arc::new(DispatchCheck::new(
                s.clone(),
                &d.pipeline,
                ranges,
                (self.section, total as u32),
                (options.check, options.profile),
                group_bytes(d),
            ))
        });
        let seed = options.shuffle.map_or(0, |s| s.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        let mut job = Job::new(
            d.pipeline.0.module.entry,
            template,
            Instant::now() + options.time_limit,
            seed,
            check.clone(),
        );
        job.zeroed = d.pipeline.0.module.zeroed_memory as usize;
        job.flush = d.pipeline.0.module.flushes_denormals;
        job.poisoned = if options.hardware || options.shuffle.is_some() { group_bytes(d) } else { 0 };
        let job = Arc::new(job);
        let started = Instant::now();
        self.device.0.pool.run(&mut self.worker, &job);
        let elapsed = started.elapsed();
        let reports = check
            .as_ref()
            .map_or(Vec::new(), |c| c.take_reports(job.abort.load(std::sync::atomic::Ordering::Relaxed)));
        if !reports.is_empty() {
            return Err(Error::Check(reports));
        }
        let kernel = d.pipeline.name().to_string();
        match job.take_fault() {
            Some(f) if f.is_timeout() => {
                Err(Error::Timeout { kernel, seconds: options.time_limit.as_secs_f64() })
            }
            Some(f) => Err(Error::Fault { kernel, what: f.text() }),
            None if job.abort.load(std::sync::atomic::Ordering::Relaxed) => {
                Err(Error::Timeout { kernel, seconds: options.time_limit.as_secs_f64() })
            }
            None => Ok(check.filter(|_| options.profile).map(|c| c.profile(&template, elapsed))),
        }
    }

    fn template(&self, d: &Dispatch, keep: &mut Vec<Buffer>) -> Result<GroupInfo> {
        // SAFETY: GroupInfo holds integers and pointers, for which zero is a value.
        let mut g = unsafe { std::mem::zeroed::<GroupInfo>() };
        for (i, b) in d.bound.iter().enumerate() {
            g.buffers[i] = match b {
                None => continue,
                Some(Bound::Bytes(words, _)) => words.as_ptr() as *mut u8,
                Some(Bound::Buffer(held, offset)) => {
                    let buffer = held.get()?;
                    let p = buffer.0.pointer.wrapping_add(*offset);
                    keep.push(buffer);
                    p
                }
            };
        }
        let mut at = d.pipeline.static_threadgroup_memory_length().div_ceil(16) * 16;
        for (i, &n) in d.group_lengths.iter().enumerate() {
            if d.pipeline
                .arguments()
                .iter()
                .any(|a| a.binding.kind == BindingKind::Threadgroup && a.binding.index == i as u32)
            {
                g.group_offset[i] = at;
                at += n;
            }
        }
        for r in &d.resources {
            if let Resource::Buffer(held) = r {
                keep.push(held.get()?);
            }
        }
        let (groups, threads) = sizes(d)?;
        (g.groups_per_grid, g.threads_per_grid, g.nominal_threads) = (groups, threads, d.threads);
        Ok(g)
    }
}

/// Groups and threads of the grid.
fn sizes(d: &Dispatch) -> Result<([u32; 3], [u32; 3])> {
    let groups = match &d.grid {
        Grid::Threads(t) => return Ok((std::array::from_fn(|i| t[i].div_ceil(d.threads[i])), *t)),
        Grid::Groups(g) => *g,
        Grid::Indirect(held, offset) => {
            let b = held.get()?;
            // SAFETY: the encoder checked the range and the alignment.
            unsafe { b.0.pointer.add(*offset).cast::<[u32; 3]>().read_unaligned() }
        }
    };
    let mut threads = [0; 3];
    for i in 0..3 {
        threads[i] = groups[i].checked_mul(d.threads[i]).ok_or_else(|| {
            Error::Invalid(format!(
                "kernel `{}`: {groups:?} groups of {:?} threads overflow",
                d.pipeline.name(),
                d.threads
            ))
        })?;
    }
    Ok((groups, threads))
}

fn group_bytes(d: &Dispatch) -> usize {
    let dynamic: u32 = d.group_lengths.iter().sum();
    d.pipeline.static_threadgroup_memory_length().div_ceil(16) as usize * 16 + dynamic as usize
}

/// What the checker must know of each bound argument.
fn bound_ranges(d: &Dispatch, keep: &[Buffer]) -> Vec<BoundRange> {
    let mut out = Vec::new();
    let mut kept = keep.iter();
    for (i, b) in d.bound.iter().enumerate() {
        let argument = d.pipeline.arguments().iter().find(|a| {
            a.binding.index == i as u32
                && matches!(a.binding.kind, BindingKind::Buffer | BindingKind::Constant)
        });
        let (start, length, owned) = match b {
            None => continue,
            Some(Bound::Bytes(words, n)) => (words.as_ptr() as usize, *n, false),
            Some(Bound::Buffer(..)) => match kept.next() {
                Some(k) => (k.0.pointer as usize, k.0.length, true),
                None => continue,
            },
        };
        let Some(a) = argument.filter(|a| a.active) else { continue };
        out.push(BoundRange {
            index: i as u32,
            name: a.binding.name.clone(),
            start,
            length,
            owned,
            writable: a.binding.access != Access::ReadOnly,
            constant: a.binding.kind == BindingKind::Constant,
            atomic: a.binding.type_name.contains("atomic"),
            texture: None,
        });
    }
    // What is left was named as a resource.
    out.extend(kept.map(|b| BoundRange {
        index: 0,
        name: "through an argument buffer".into(),
        start: b.0.pointer as usize,
        length: b.0.length,
        owned: true,
        writable: true,
        constant: false,
        // It need not be used.
        atomic: true,
        texture: None,
    }));
    out
}

/// Texels that parameters and argument buffers name.
fn texture_ranges(d: &Dispatch) -> Vec<BoundRange> {
    let bound = d.textures.iter().enumerate().filter_map(|(i, t)| Some((i as u32, t.as_ref()?)));
    let named = d.resources.iter().filter_map(|r| match r {
        Resource::Texture(t) => Some((u32::MAX, t)),
        Resource::Buffer(_) => None,
    });
    let range = |(i, t): (u32, &super::texture::Texture)| {
        let argument = d.pipeline.arguments().iter().find(|a| {
            let count = (a.type_size / 8).max(1);
            a.binding.kind == BindingKind::Texture && (a.binding.index..a.binding.index + count).contains(&i)
        });
        BoundRange {
            index: if i == u32::MAX { 0 } else { i },
            name: argument.map_or("through an argument buffer".into(), |a| a.binding.name.clone()),
            start: t.0.buffer.0.pointer as usize,
            length: t.0.buffer.0.length,
            owned: true,
            // What may be written is part of the texture's type.
            writable: argument.is_none_or(|a| a.binding.access != Access::ReadOnly),
            constant: false,
            atomic: argument.is_none_or(|a| a.type_size > 8),
            texture: Some(&raw const t.0.info as usize),
        }
    };
    bound.chain(named).map(range).collect()
}
