//! Commands on several MPI ranks: `mpirun -n 4 wootz run …`. All ranks do the same work; rank 0 handles input and
//! output.

use crate::models::Failure;
use crate::output;
use std::sync::OnceLock;
use wootz::distributed::{self, Group};

/// The group of ranks, once [`group`] has created it.
static GROUP: OnceLock<Group> = OnceLock::new();

/// The group of ranks that an MPI launcher started, if there is more than one. All must have the same arguments.
pub fn group() -> Result<Option<Group>, Failure> {
    if distributed::launch().is_none_or(|launch| launch.size.is_some_and(|size| size < 2)) {
        return Ok(None);
    }
    if let Some(known) = GROUP.get() {
        return Ok(Some(known.clone()));
    }
    let group = distributed::init()?;
    let group = GROUP.get_or_init(|| group);
    if group.rank() > 0 {
        silence()?;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    group.agree("the arguments", &arguments.join(" "))?;
    Ok(Some(group.clone()))
}

/// What rank 0 writes is enough.
fn silence() -> Result<(), Failure> {
    #[cfg(unix)]
    rustix::stdio::dup2_stdout(std::fs::OpenOptions::new().write(true).open("/dev/null")?)?;
    Ok(())
}

/// Whether this rank reports to the user.
pub fn speaks() -> bool {
    GROUP.get().is_none_or(|group| group.rank() == 0)
}

/// Runs `read` on rank 0 and broadcasts the result.
pub fn shared<E: From<wootz::Error>>(
    read: impl FnOnce() -> Result<Option<String>, E>,
) -> Result<Option<String>, E> {
    let Some(group) = GROUP.get() else { return read() };
    let own = if group.rank() == 0 { read()? } else { None };
    let mut bytes = vec![u8::from(own.is_some())];
    bytes.extend(own.unwrap_or_default().into_bytes());
    let shared = group.share(&bytes)?;
    Ok((shared.first() == Some(&1)).then(|| String::from_utf8_lossy(&shared[1..]).into_owned()))
}

/// Broadcasts rank 0's number.
pub fn shared_seed(own: u64) -> Result<u64, Failure> {
    let text = shared(|| Ok::<_, wootz::Error>(Some(own.to_string())))?;
    Ok(text.and_then(|text| text.parse().ok()).unwrap_or(own))
}

/// Launchers kill all ranks as soon as one fails, so the others wait until the one that reports has done so.
const ANOTHER_SPEAKS: std::time::Duration = std::time::Duration::from_secs(3);

/// Reports an error to the other ranks, which would otherwise wait for this one, and once to the user.
pub fn report(error: &dyn std::error::Error) {
    // Without a group, every rank has failed to start MPI for the same reason.
    if GROUP.get().is_none() && distributed::launch().is_some_and(|launch| launch.rank > 0) {
        std::thread::sleep(ANOTHER_SPEAKS);
        return;
    }
    if let Some(group) = GROUP.get() {
        let own = group.failure().is_none();
        if own {
            group.abandon(&error.to_string());
        }
        if group.speaker() != group.rank() {
            std::thread::sleep(ANOTHER_SPEAKS);
            return;
        }
        // An error known to all ranks is reported in their words.
        if let Some(known) = group.failure().filter(|_| !own) {
            return print(&known.to_string());
        }
    }
    print(&error.to_string());
}

fn print(error: &str) {
    anstream::eprintln!("{}error:{} {error}", output::BAD.render(), output::BAD.render_reset());
}
