//! Run-time detection of the instruction set.

use std::sync::atomic::{AtomicU8, Ordering};

/// The instruction sets that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// The baseline of the target.
    Baseline = 1,
    /// 64-bit ARM with Advanced SIMD.
    Neon = 2,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2 = 3,
    /// x86-64 with AVX-512 F, BW, CD, DQ and VL.
    Avx512 = 4,
}

impl Level {
    /// The name accepted by `WOOTZ_ISA`.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Baseline => "baseline",
            Level::Neon => "neon",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

/// The levels that this processor has, the plainest first.
pub fn available() -> Vec<Level> {
    let mut levels = vec![Level::Baseline];
    #[cfg(target_arch = "aarch64")]
    levels.push(Level::Neon);
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        // What the kernels of a level are compiled for: see `isa_fn`.
        let avx2 = has!("avx2") && has!("fma") && has!("f16c");
        if avx2 && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt") {
            levels.push(Level::Avx2);
            let avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512cd");
            if avx512 && has!("avx512dq") && has!("avx512vl") {
                levels.push(Level::Avx512);
            }
        }
    }
    levels
}

static CHOSEN: AtomicU8 = AtomicU8::new(0);

/// The level that kernels run at: the best of the processor, or the one named by `WOOTZ_ISA`.
#[inline]
pub fn level() -> Level {
    match CHOSEN.load(Ordering::Relaxed) {
        1 => Level::Baseline,
        2 => Level::Neon,
        3 => Level::Avx2,
        4 => Level::Avx512,
        _ => choose(),
    }
}

/// The level that `WOOTZ_ISA` names, if it is set; an error if this processor lacks it.
pub(crate) fn requested() -> Result<Option<Level>, String> {
    let Ok(name) = std::env::var("WOOTZ_ISA") else { return Ok(None) };
    let levels = available();
    match levels.iter().find(|level| level.name() == name.trim()) {
        Some(level) => Ok(Some(*level)),
        None => {
            let names: Vec<_> = levels.iter().map(|l| l.name()).collect();
            Err(format!(
                "WOOTZ_ISA={name:?} is not available on this processor; available: {}",
                names.join(", ")
            ))
        }
    }
}

#[cold]
fn choose() -> Level {
    let best = *available().last().unwrap_or(&Level::Baseline);
    let chosen = requested().unwrap_or_else(|problem| {
        // Functions that can fail have returned this error already; see `check_environment`.
        tracing::warn!("{problem}; using {}", best.name());
        Some(best)
    });
    let chosen = chosen.unwrap_or(best);
    CHOSEN.store(chosen as u8, Ordering::Relaxed);
    chosen
}
