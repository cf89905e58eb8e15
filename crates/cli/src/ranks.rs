//! Commands on several ranks, which an MPI launcher starts: `mpirun -n 4 wootz run …`. All of them do the same; rank 0 reads and speaks.

use crate::models::Failure;
use crate::output;
use std::sync::OnceLock;
use wootz::distributed::{self, Group};

/// The ranks, once [`group`] was asked for them.
static GROUP: OnceLock<Group> = OnceLock::new();

/// The ranks that a launcher started, if there is more than one. All must have been given the same arguments.
pub fn group() -> Result<Option<Group>, Failure> {
    if distributed::launch().is_none_or(|launch| launch.size < 2) {
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

/// Refuses a command that runs on one rank only.
pub fn refuse(command: &str) -> Result<(), Failure> {
    match group()? {
        Some(group) => Err(format!("wootz {command} runs on one rank, not on {}", group.size()).into()),
        None => Ok(()),
    }
}

/// What rank 0 writes is enough.
fn silence() -> Result<(), Failure> {
    #[cfg(unix)]
    rustix::stdio::dup2_stdout(std::fs::OpenOptions::new().write(true).open("/dev/null")?)?;
    Ok(())
}

/// Whether this rank tells the user about things.
pub fn speaks() -> bool {
    GROUP.get().is_none_or(|group| group.rank() == 0)
}

/// What rank 0 gets from `read`, on every rank.
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

/// Rank 0's number, on every rank.
pub fn shared_seed(own: u64) -> Result<u64, Failure> {
    let text = shared(|| Ok::<_, wootz::Error>(Some(own.to_string())))?;
    Ok(text.and_then(|text| text.parse().ok()).unwrap_or(own))
}

/// Reports an error: to the other ranks, which would wait for this one, and once to the user.
pub fn report(error: &dyn std::error::Error) {
    // Without a group every rank has failed to start MPI, for the same reason.
    if GROUP.get().is_none() && distributed::launch().is_some_and(|launch| launch.rank > 0) {
        return;
    }
    if let Some(group) = GROUP.get() {
        let own = group.failure().is_none();
        if own {
            group.abandon(&error.to_string());
        }
        if group.speaker() != group.rank() {
            // Launchers end all ranks when the first one has failed, and another one has to speak before.
            std::thread::sleep(std::time::Duration::from_secs(1));
            return;
        }
        // What all ranks know is said in their words.
        if let Some(known) = group.failure().filter(|_| !own) {
            return print(&known.to_string());
        }
    }
    print(&error.to_string());
}

fn print(error: &str) {
    anstream::eprintln!("{}error:{} {error}", output::BAD.render(), output::BAD.render_reset());
}
