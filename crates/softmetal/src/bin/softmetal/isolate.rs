//! `softmetal run --isolate`: the kernel in a process of its own, with limits. What it does to memory, and how long it takes, then
//! ends that process alone. It is no sandbox: the process may read and write the files of its user.

use crate::args::RunArgs;
use softmetal::{Error, Result};

/// Runs the command once more without `--isolate`, in a process with limits.
#[cfg(unix)]
pub fn run(a: &RunArgs) -> Result<bool> {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// Time for the compiler, beside that of the kernel.
    const COMPILING: Duration = Duration::from_secs(120);
    /// What the compiler and the device need to know.
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

    let failed = |e: std::io::Error| Error::Invalid(format!("--isolate: no process of its own: {e}"));
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
    // SAFETY: between fork and exec only system calls are made, on values that were computed before.
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
                // It gains no rights, and ends with us.
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
            // It may have ended by itself in between, which is as good.
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::Invalid(format!(
                "--isolate: ended after {} s (--time-limit)",
                time.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    match status.signal() {
        Some(signal) => Err(Error::Invalid(format!(
            "--isolate: the process was ended by signal {signal}; its limits are {} bytes (--isolate-memory) and {} s",
            a.isolate_memory,
            time.as_secs()
        ))),
        None => Ok(status.success()),
    }
}

/// Limits of processes are those of POSIX.
#[cfg(not(unix))]
pub fn run(_: &RunArgs) -> Result<bool> {
    Err(Error::Invalid("--isolate is not available on this system".into()))
}
