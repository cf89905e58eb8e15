//! Processes of ranks: where each one runs, and whether it is still there.

/// Where a rank runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub pid: u32,
    /// Whether it answers calls at any time, and not only while it waits.
    pub attends: bool,
    /// Processes with the same space can be asked for by their id; there is none where that is not known.
    space: Option<String>,
    pub host: String,
}

/// Bytes in which a peer is told to the others.
pub const PEER: usize = 256;

impl Peer {
    pub fn here(attends: bool) -> Peer {
        #[cfg(unix)]
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        #[cfg(not(unix))]
        let host = String::from("localhost");
        Peer { pid: std::process::id(), attends, space: space(), host }
    }

    pub fn encode(&self) -> [u8; PEER] {
        let mut bytes = [0; PEER];
        // What may be long comes last.
        let (attends, space) = (u8::from(self.attends), self.space.as_deref().unwrap_or_default());
        let text = format!("{}\n{attends}\n{space}\n{}", self.pid, self.host);
        let length = text.len().min(PEER);
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Peer {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.trim_end_matches('\0').splitn(4, '\n');
        let pid = lines.next().and_then(|pid| pid.parse().ok()).unwrap_or(0);
        let mut next = || lines.next().unwrap_or_default().to_string();
        let attends = next() == "1";
        Peer { pid, attends, space: Some(next()).filter(|space| !space.is_empty()), host: next() }
    }

    /// Whether a process with this one's view of the system has seen that `other` is gone.
    pub fn sees_end_of(&self, other: &Peer) -> bool {
        self.space.is_some() && self.space == other.space && self.host == other.host && !is_alive(other.pid)
    }
}

/// What tells processes that can see one another from all others: the run of the machine, as names of machines are not unique,
/// and the namespace of processes, as containers count theirs apart.
#[cfg(target_os = "linux")]
fn space() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

#[cfg(target_vendor = "apple")]
fn space() -> Option<String> {
    let mut text = [0u8; 64];
    let mut length = text.len();
    // SAFETY: the name ends in zero, and the buffer has room for `length` bytes.
    let code = unsafe {
        let (name, none) = (c"kern.bootsessionuuid".as_ptr(), std::ptr::null_mut());
        libc::sysctlbyname(name, text.as_mut_ptr().cast(), &mut length, none, 0)
    };
    let text = std::str::from_utf8(text.get(..length)?).ok()?.trim_end_matches('\0');
    (code == 0 && !text.is_empty()).then(|| text.to_string())
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn space() -> Option<String> {
    None
}

/// Whether a process is still there.
pub fn is_alive(pid: u32) -> bool {
    // A process that nobody has asked for its end yet is still listed, as a zombie.
    if let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat"))
        && stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
    {
        return false;
    }
    #[cfg(unix)]
    if let Some(pid) = rustix::process::Pid::from_raw(pid as i32) {
        return rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH);
    }
    let _ = pid;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Process numbers on Linux end at 2²².
    const NOBODY: u32 = 1 << 30;

    #[test]
    fn a_process_is_looked_for_on_its_own_machine_only() {
        let here = Peer::here(true);
        let gone = Peer { pid: NOBODY, ..here.clone() };
        assert_eq!(Peer::decode(&gone.encode()), gone);
        assert!(!here.sees_end_of(&here));
        assert_eq!(here.sees_end_of(&gone), here.space.is_some());
        // Another machine, whose name and namespace may well be the same.
        let elsewhere =
            here.space.clone().map(|space| space.replacen(|c: char| c.is_ascii_hexdigit(), "g", 1));
        assert!(!here.sees_end_of(&Peer { space: elsewhere, ..gone.clone() }));
        let unknown = Peer { space: None, ..gone };
        assert!(!here.sees_end_of(&unknown) && !unknown.sees_end_of(&unknown.clone()));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_machine_is_part_of_where_a_process_runs() {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("Linux has it");
        assert!(Peer::here(false).space.is_some_and(|space| space.starts_with(boot.trim())));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_zombie_is_gone() {
        let mut child = std::process::Command::new("true").spawn().expect("it starts");
        let pid = child.id();
        let begin = std::time::Instant::now();
        while is_alive(pid) {
            assert!(begin.elapsed().as_secs() < 60, "it still looks alive");
            std::thread::yield_now();
        }
        child.wait().expect("it can be waited for");
        assert!(is_alive(std::process::id()));
    }
}
