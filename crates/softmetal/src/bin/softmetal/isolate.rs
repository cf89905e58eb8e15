//! `softmetal run --isolate`: run the kernel in a separate process with limits, so that memory corruption or a hang
//! ends only that process. It is not a sandbox: the process has the user's access to files.

use crate::args::RunArgs;
use softmetal::{Error, Result};

/// Reruns the command without `--isolate`, in a process with limits.
#[cfg(unix)]
pub fn run(a: &RunArgs) -> Result<bool> {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// Extra time for the compiler.
    const COMPILING: Duration = Duration::from_secs(120);
    /// Memory for the compiler and the device.
    const PASSED: [&str; 8] = [
        "PATH",
        "HOME",
        "XDG_CACHE_HOME",
        "TMPDIR",
        "SOFTMETAL_CACHE",
        "SOFTMETAL_CLANG",
        "SOFTMETAL_LLVM_DIS",
        "SOFTMETAL_LLVM_LINK",
    ];

    let failed = |e: std::io::Error| Error::Invalid(format!("--isolate: cannot start a process: {e}"));
    let time = Duration::from_secs_f64(a.time_limit) + COMPILING;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let limits = [
        (libc::RLIMIT_DATA, a.isolate_memory),
        (libc::RLIMIT_FSIZE, a.isolate_memory),
        (libc::RLIMIT_CPU, time.as_secs().saturating_mul(cores).saturating_add(1)),
        (libc::RLIMIT_CORE, 0),
    ];
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(std::env::args_os().skip(1).filter(|argument| argument != "--isolate")).stdin(Stdio::null());
    command.env_clear().envs(PASSED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    // SAFETY: only system calls are made between fork and exec, on values computed before the fork.
    unsafe {
        command.pre_exec(move || {
            for (resource, most) in limits {
                let limit = libc::rlimit { rlim_cur: most as libc::rlim_t, rlim_max: most as libc::rlim_t };
                if libc::setrlimit(resource, &limit) != 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            #[cfg(target_os = "linux")]
            {
                // It gains no privileges, and dies with its parent.
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            }
            Ok(())
        })
    };
    let mut child = command.spawn().map_err(failed)?;
    let end = Instant::now() + time;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if Instant::now() > end {
            // It may have exited in the meantime, which is fine.
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::Invalid(format!(
                "--isolate: killed after {} s (--time-limit)",
                time.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    match status.signal() {
        Some(signal) => Err(Error::Invalid(format!(
            "--isolate: the process was killed by signal {signal}; its limits are {} bytes (--isolate-memory) and {} s",
            a.isolate_memory,
            time.as_secs()
        ))),
        None => Ok(status.success()),
    }
}

/// Process limits are POSIX only.
#[cfg(not(unix))]
pub fn run(_: &RunArgs) -> Result<bool> {
    Err(Error::Invalid("--isolate is not available on this system".into()))
}
