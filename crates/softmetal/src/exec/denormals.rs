//! Flushing of single-precision denormals to zero: a processor mode, per OS thread.

/// Sets the mode while it lives, and restores what was before.
#[derive(Debug)]
pub struct Denormals(Word);

/// Operands and results that are denormal become zero of the same sign.
#[cfg(target_arch = "x86_64")]
const FLUSH: Word = 0x8040;
#[cfg(target_arch = "aarch64")]
const FLUSH: Word = 1 << 24;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FLUSH: Word = 0;

#[cfg(target_arch = "x86_64")]
type Word = u32;
#[cfg(not(target_arch = "x86_64"))]
type Word = u64;

impl Denormals {
    /// Flushes them, or keeps them.
    pub fn flushed(flush: bool) -> Denormals {
        let before = get();
        set(if flush { before | FLUSH } else { before & !FLUSH });
        Denormals(before)
    }
}

impl Drop for Denormals {
    fn drop(&mut self) {
        set(self.0);
    }
}

#[cfg(target_arch = "x86_64")]
fn get() -> Word {
    let mut word = 0;
    // SAFETY: stores the control word of SSE, which every x86-64 processor has, to our variable.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
    word
}

#[cfg(target_arch = "x86_64")]
fn set(word: Word) {
    // SAFETY: only the two flush bits differ from a word that the processor gave; kernels run between the calls, and the former
    // word is back before other code of this thread computes.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
fn get() -> Word {
    let word;
    // SAFETY: reads the control register of floating point.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack, preserves_flags)) };
    word
}

#[cfg(target_arch = "aarch64")]
fn set(word: Word) {
    // SAFETY: only the flush bit differs from a word that the processor gave, and the former word comes back.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) word, options(nomem, nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn get() -> Word {
    0
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn set(_: Word) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn the_mode_ends_with_its_guard() {
        let smallest = || black_box(f32::MIN_POSITIVE) * black_box(0.5);
        assert!(smallest() > 0.0);
        {
            let _flush = Denormals::flushed(true);
            assert_eq!(smallest(), 0.0);
            let _keep = Denormals::flushed(false);
            assert!(smallest() > 0.0);
        }
        assert!(smallest() > 0.0);
    }
}
