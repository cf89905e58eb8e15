//! Background load: processes that compete with the contenders of a case for cores, as a user's other programs would.

use super::cases::Fallible;
use std::io::Read;
use std::process::{Child, Command, ExitCode, Stdio};

/// Busy processes, stopped when this is dropped.
pub struct Neighbours(Vec<Child>);

impl Neighbours {
    /// Starts `count` busy copies of this program.
    pub fn start(count: usize) -> Fallible<Neighbours> {
        let mut neighbours = Neighbours(vec![]);
        for _ in 0..count {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["bench", "--spin"]).stdin(Stdio::piped()).stdout(Stdio::null());
            neighbours.0.push(command.spawn()?);
        }
        Ok(neighbours)
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The body of a busy process: computes until its stdin closes, at the latest when its parent exits.
pub fn spin() -> ExitCode {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    loop {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::Neighbours;

    #[test]
    fn none_are_started_where_none_are_asked_for() {
        assert!(Neighbours::start(0).unwrap().0.is_empty());
    }
}
