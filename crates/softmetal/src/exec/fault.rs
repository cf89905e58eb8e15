//! Kernels that crash or never end: signals return the OS thread from the kernel to its worker.

use super::fiber::resume;
use super::worker::current;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::{Once, OnceLock};

/// A fault of a kernel.
#[derive(Debug, Clone)]
pub struct FaultInfo {
    /// The signal, or zero.
    pub signal: c_int,
    /// The address that faulted.
    pub address: usize,
    /// Index of the thread in its group, and the group's position.
    pub thread: ([u32; 3], [u32; 3]),
    /// Whether the address is in a stack's guard page.
    pub overflow: bool,
    /// A message when no signal was the cause.
    pub message: Option<String>,
}

impl FaultInfo {
    /// A failure without a signal.
    pub fn other(message: String) -> FaultInfo {
        FaultInfo { signal: 0, address: 0, thread: ([0; 3], [0; 3]), overflow: false, message: Some(message) }
    }

    /// Whether the time limit was the cause.
    pub fn is_timeout(&self) -> bool {
        self.signal == WAKE && self.message.is_none()
    }

    /// Whether the kernel ran into a trap.
    pub fn is_trap(&self) -> bool {
        matches!(self.signal, libc::SIGILL | libc::SIGTRAP) && self.message.is_none()
    }

    /// The fault in words.
    pub fn text(&self) -> String {
        if let Some(m) = &self.message {
            return m.clone();
        }
        let what = match self.signal {
            libc::SIGFPE => "integer division by zero or overflow".to_string(),
            libc::SIGILL | libc::SIGTRAP => "trap or illegal instruction".to_string(),
            _ if self.overflow => "stack overflow (thread variables are too large)".to_string(),
            _ => format!("invalid or misaligned access near address {:#x}", self.address),
        };
        format!(
            "{what}, in thread {:?} of threadgroup {:?}; run with the checker on to see the source line",
            self.thread.0, self.thread.1
        )
    }
}

/// The signal that interrupts a kernel past its time limit.
pub const WAKE: c_int = libc::SIGURG;
const SIGNALS: [c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, WAKE];
static OLD: OnceLock<Vec<(c_int, libc::sigaction)>> = OnceLock::new();

/// Gives the calling thread an alternate signal stack, and installs the handlers once per process.
pub fn prepare_thread() {
    static ONCE: Once = Once::new();
    ONCE.call_once(install);
    const SIZE: usize = 64 << 10;
    // SAFETY: the mapping lives as long as the thread; workers are few, so it is not given back.
    unsafe {
        let p = libc::mmap(
            std::ptr::null_mut(),
            SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON,
            -1,
            0,
        );
        if p != libc::MAP_FAILED {
            let stack = libc::stack_t { ss_sp: p, ss_flags: 0, ss_size: SIZE };
            libc::sigaltstack(&stack, std::ptr::null_mut());
        }
    }
}

fn install() {
    let mut old = Vec::new();
    for s in SIGNALS {
        // SAFETY: plain sigaction calls with a valid handler; the old action is kept for signals that are not ours.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            let mut before: libc::sigaction = MaybeUninit::zeroed().assume_init();
            if libc::sigaction(s, &action, &mut before) == 0 {
                old.push((s, before));
            }
        }
    }
    let _ = OLD.set(old);
}

extern "C" fn handler(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let w = current();
    // SAFETY: the worker belongs to this thread; `in_kernel` says that only compiled kernel code is interrupted,
    // which holds no lock and owns nothing, so leaving it for the worker's saved context is sound.
    unsafe {
        if !w.is_null() && (*w).in_kernel.get() {
            if signal == WAKE && !(*w).aborted() {
                return;
            }
            let address = if signal == WAKE { 0 } else { (*info).si_addr() as usize };
            let fibers: &Vec<super::fiber::Fiber> = &(*w).fibers;
            let overflow = fibers.get((*w).fiber as usize).is_some_and(|f| f.guards(address));
            let lane = &(&(*w).lanes)[(*w).lane as usize];
            (*w).fault = Some(FaultInfo {
                signal,
                address,
                thread: (lane.position, (*w).group.group_position),
                overflow,
                message: None,
            });
            (*w).in_kernel.set(false);
            redirect(context, (*w).main_sp as usize, resume as *const () as usize);
            return;
        }
        if signal != WAKE {
            give_back(signal);
        }
    }
}

/// Restores the previous action; the instruction runs again and meets it.
fn give_back(signal: c_int) {
    let Some((_, old)) = OLD.get().and_then(|o| o.iter().find(|(s, _)| *s == signal)) else { return };
    // SAFETY: restores an action that the system gave us.
    unsafe { libc::sigaction(signal, old, std::ptr::null_mut()) };
}

/// Makes the interrupted thread continue at `pc` on the stack at `sp`.
///
/// # Safety
/// `context` is the one that the system passed to the signal handler that calls this; `sp` and `pc` are those of code
/// that may run on this thread.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
unsafe fn redirect(context: *mut c_void, sp: usize, pc: usize) {
    // SAFETY: the kernel passes a ucontext_t.
    let c = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    c.uc_mcontext.gregs[libc::REG_RSP as usize] = sp as i64;
    c.uc_mcontext.gregs[libc::REG_RIP as usize] = pc as i64;
}

/// Makes the interrupted thread continue at `pc` on the stack at `sp`.
///
/// # Safety
/// `context` is the one that the system passed to the signal handler that calls this; `sp` and `pc` are those of code
/// that may run on this thread.
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
unsafe fn redirect(context: *mut c_void, sp: usize, pc: usize) {
    // SAFETY: the kernel passes a ucontext_t.
    let c = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    c.uc_mcontext.sp = sp as u64;
    c.uc_mcontext.pc = pc as u64;
}

/// Makes the interrupted thread continue at `pc` on the stack at `sp`.
///
/// # Safety
/// `context` is the one that the system passed to the signal handler that calls this; `sp` and `pc` are those of code
/// that may run on this thread.
#[cfg(all(target_vendor = "apple", target_arch = "aarch64"))]
unsafe fn redirect(context: *mut c_void, sp: usize, pc: usize) {
    // SAFETY: the kernel passes a ucontext_t with a machine context.
    let c = unsafe { &mut *(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    c.__ss.__sp = sp as u64;
    c.__ss.__pc = pc as u64;
}

/// Makes the interrupted thread continue at `pc` on the stack at `sp`.
///
/// # Safety
/// `context` is the one that the system passed to the signal handler that calls this; `sp` and `pc` are those of code
/// that may run on this thread.
#[cfg(all(target_vendor = "apple", target_arch = "x86_64"))]
unsafe fn redirect(context: *mut c_void, sp: usize, pc: usize) {
    // SAFETY: the kernel passes a ucontext_t with a machine context.
    let c = unsafe { &mut *(*context.cast::<libc::ucontext_t>()).uc_mcontext };
    c.__ss.__rsp = sp as u64;
    c.__ss.__rip = pc as u64;
}
