//! Stacks and context switches. A stack is aligned to its size, and its lowest word points to the running lane.

use super::abi::Lane;
use crate::error::{Error, Result};
use std::arch::naked_asm;

/// Bytes of a stack; `shim/abi.h` has the same number.
pub const STACK_SIZE: usize = 1 << 18;
/// The lowest page holds the lane pointer; the page above it is inaccessible, so an overflow faults.
const PAGE: usize = 4096;

/// A stack that can be suspended.
#[derive(Debug)]
pub struct Fiber {
    base: *mut u8,
    map: *mut u8,
    map_len: usize,
    color: usize,
    /// Saved stack pointer while suspended.
    pub sp: *mut u8,
}

impl Fiber {
    /// Maps a stack; `number` staggers the first frame, so that many stacks do not share cache sets.
    pub fn new(number: usize, entry: extern "C" fn() -> !) -> Result<Fiber> {
        let map_len = STACK_SIZE * 2;
        // SAFETY: a fresh private mapping.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                map_len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if map == libc::MAP_FAILED {
            return Err(Error::Tool {
                step: "mapping a stack",
                message: std::io::Error::last_os_error().to_string(),
            });
        }
        let map = map.cast::<u8>();
        let base = map.wrapping_add(map.align_offset(STACK_SIZE));
        // Give back what alignment left over, then guard the page above the lane pointer.
        // SAFETY: the ranges lie in the mapping above.
        unsafe {
            let head = base as usize - map as usize;
            if head > 0 {
                libc::munmap(map.cast(), head);
            }
            let tail = map_len - head - STACK_SIZE;
            if tail > 0 {
                libc::munmap(base.add(STACK_SIZE).cast(), tail);
            }
            if libc::mprotect(base.add(PAGE).cast(), PAGE, libc::PROT_NONE) != 0 {
                let e = std::io::Error::last_os_error();
                libc::munmap(base.cast(), STACK_SIZE);
                return Err(Error::Tool { step: "guarding a stack", message: e.to_string() });
            }
        }
        let mut f = Fiber { base, map: base, map_len: STACK_SIZE, color: number % 32 * 192, sp: base };
        f.reset(entry);
        Ok(f)
    }

    /// Makes the next switch to this fiber start `entry` on an empty stack.
    pub fn reset(&mut self, entry: extern "C" fn() -> !) {
        // SAFETY: all words lie at the top of the stack, which nothing runs on.
        unsafe {
            let top = self.base.add(STACK_SIZE - 64 - self.color).cast::<usize>();
            self.sp = prepare(top, entry as usize);
        }
    }

    /// Sets the lane that code on this stack belongs to.
    pub fn set_lane(&self, lane: *mut Lane) {
        // SAFETY: the lowest word is mapped and reserved for this.
        unsafe { self.base.cast::<*mut Lane>().write(lane) }
    }

    /// Whether an address is on this stack.
    pub fn holds(&self, address: usize) -> bool {
        address.wrapping_sub(self.base as usize) < STACK_SIZE
    }

    /// Whether an address is in the guard page.
    pub fn guards(&self, address: usize) -> bool {
        let at = self.base as usize + PAGE;
        (at..at + PAGE).contains(&address)
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing runs on it.
        unsafe { libc::munmap(self.map.cast(), self.map_len) };
    }
}

/// The address range of the stack that holds `address`.
pub fn stack_range(address: usize) -> std::ops::Range<usize> {
    let base = address & !(STACK_SIZE - 1);
    base..base + STACK_SIZE
}

/// Writes the first frame of a stack that ends at `top`, from which a switch returns into `entry`. Returns its stack
/// pointer.
///
/// # Safety
/// The page below `top` is writable and unused; `entry` is the address of a function that does not return.
#[cfg(target_arch = "x86_64")]
unsafe fn prepare(top: *mut usize, entry: usize) -> *mut u8 {
    // SAFETY: the caller's contract; six registers, the entry address, and a zero return address, which lies
    // eight bytes off a multiple of sixteen as after a call.
    unsafe {
        let top = top.sub(1);
        top.write(0);
        top.sub(1).write(entry);
        for i in 2..8 {
            top.sub(i).write(0);
        }
        top.sub(7).cast()
    }
}

/// Saves this context at `from` and continues the one saved at `to`.
///
/// # Safety
/// `to` was saved by this function or made by [`Fiber::reset`], and its stack is alive.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C" fn switch(from: *mut *mut u8, to: *mut u8) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// Continues the context whose saved stack pointer is in the stack pointer now; for signal handlers.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C" fn resume() {
    naked_asm!("pop r15", "pop r14", "pop r13", "pop r12", "pop rbx", "pop rbp", "ret")
}

/// Writes the first frame of a stack that ends at `top`, from which a switch returns into `entry`. Returns its stack
/// pointer.
///
/// # Safety
/// The page below `top` is writable and unused; `entry` is the address of a function that does not return.
#[cfg(target_arch = "aarch64")]
unsafe fn prepare(top: *mut usize, entry: usize) -> *mut u8 {
    // SAFETY: the caller's contract; twenty words of registers, with the entry in x30.
    unsafe {
        let sp = ((top as usize & !15) as *mut usize).sub(20);
        for i in 0..20 {
            sp.add(i).write(0);
        }
        sp.add(11).write(entry);
        sp.cast()
    }
}

/// Saves this context at `from` and continues the one saved at `to`.
///
/// # Safety
/// `to` was saved by this function or made by [`Fiber::reset`], and its stack is alive.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub unsafe extern "C" fn switch(from: *mut *mut u8, to: *mut u8) {
    naked_asm!(
        "sub sp, sp, #160",
        "stp x19, x20, [sp]",
        "stp x21, x22, [sp, #16]",
        "stp x23, x24, [sp, #32]",
        "stp x25, x26, [sp, #48]",
        "stp x27, x28, [sp, #64]",
        "stp x29, x30, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, sp",
        "str x9, [x0]",
        "mov sp, x1",
        "ldp x19, x20, [sp]",
        "ldp x21, x22, [sp, #16]",
        "ldp x23, x24, [sp, #32]",
        "ldp x25, x26, [sp, #48]",
        "ldp x27, x28, [sp, #64]",
        "ldp x29, x30, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "add sp, sp, #160",
        "ret",
    )
}

/// Continues the context whose saved stack pointer is in the stack pointer now; for signal handlers.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub unsafe extern "C" fn resume() {
    naked_asm!(
        "ldp x19, x20, [sp]",
        "ldp x21, x22, [sp, #16]",
        "ldp x23, x24, [sp, #32]",
        "ldp x25, x26, [sp, #48]",
        "ldp x27, x28, [sp, #64]",
        "ldp x29, x30, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "add sp, sp, #160",
        "ret",
    )
}
