//! What a launcher has told this process in its environment.

use crate::abi::Abi;
use crate::library::LIBRARY;

/// What a launcher has told this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Rank.
    pub rank: usize,
    /// How many ranks were started, if the launcher says so.
    pub size: Option<usize>,
    /// Whose launcher it was.
    pub launcher: Launcher,
    /// What all ranks of one start share, on one machine.
    pub(crate) job: String,
}

/// Launchers, by the variables that they set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI's `mpirun`.
    OpenMpi,
    /// Any launcher that speaks PMI: MPICH's `mpiexec`, Intel's, Cray's, `srun --mpi=pmi2`.
    Pmi,
    /// A launcher that speaks PMIx: `srun --mpi=pmix`, `prterun`.
    Pmix,
    /// `srun` without a protocol that an MPI library could use.
    Slurm,
}

impl Launcher {
    /// Human-readable name.
    pub fn name(self) -> &'static str {
        match self {
            Launcher::OpenMpi => "Open MPI's launcher",
            Launcher::Pmi => "MPICH's launcher",
            Launcher::Pmix => "a PMIx launcher",
            Launcher::Slurm => "srun",
        }
    }

    /// The libraries that this launcher most likely starts.
    pub(crate) fn abi(self) -> Option<Abi> {
        match self {
            Launcher::OpenMpi | Launcher::Pmix => Some(Abi::OpenMpi),
            Launcher::Pmi => Some(Abi::Mpich),
            Launcher::Slurm => None,
        }
    }

    /// What to do if the library does not see the ranks that were started.
    pub(crate) fn advice(self) -> String {
        match self {
            Launcher::Slurm => "use srun --mpi=pmix or --mpi=pmi2, as the library was built for".into(),
            Launcher::OpenMpi | Launcher::Pmi | Launcher::Pmix => {
                format!("name the launcher's own library in {LIBRARY}")
            }
        }
    }
}

/// The launcher's word, if this process was started by one.
pub fn launch() -> Option<Launch> {
    told(|name| std::env::var(name).ok())
}

fn told(text: impl Fn(&str) -> Option<String>) -> Option<Launch> {
    let number = |name: &str| text(name)?.parse::<usize>().ok();
    let pmix = || text("PMIX_NAMESPACE").unwrap_or_default();
    let step = || Some(format!("{}.{}", text("SLURM_JOB_ID")?, text("SLURM_STEP_ID")?));
    // Only steps have this one: a batch script, which is a single process, is told the rest.
    let tasks = number("SLURM_STEP_NUM_TASKS");
    let (rank, size, launcher, job) = if let Some(rank) = number("OMPI_COMM_WORLD_RANK") {
        (rank, number("OMPI_COMM_WORLD_SIZE"), Launcher::OpenMpi, pmix())
    } else if let (Some(rank), Some(size)) = (number("PMI_RANK"), number("PMI_SIZE")) {
        (rank, Some(size), Launcher::Pmi, starter().to_string())
    } else if let Some(rank) = number("PMIX_RANK") {
        (rank, tasks, Launcher::Pmix, pmix())
    } else {
        (number("SLURM_PROCID")?, Some(tasks.filter(|&tasks| tasks > 1)?), Launcher::Slurm, step()?)
    };
    let job = job.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Some(Launch { rank, size, launcher, job })
}

/// The process that has started all ranks of this machine: the nearest one above that is not itself part of a rank.
fn starter() -> u32 {
    #[cfg(unix)]
    let mut process = std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    let mut process = 0;
    while is_of_rank(process) {
        let Some(parent) = parent_of(process) else { break };
        process = parent;
    }
    process
}

/// Whether a process, such as a shell that runs this one, was given a rank as well.
fn is_of_rank(process: u32) -> bool {
    let words = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    words.split(|&byte| byte == 0).any(|word| word.starts_with(b"PMI_RANK="))
}

fn parent_of(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<(usize, Option<usize>, Launcher)> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, v)| v.to_string());
        told(find).map(|launch| (launch.rank, launch.size, launch.launcher))
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        assert_eq!(of(&[]), None);
        let open = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "1")];
        assert_eq!(of(&open), Some((1, Some(4), Launcher::OpenMpi)));
        assert_eq!(of(&[("PMI_RANK", "2"), ("PMI_SIZE", "3")]), Some((2, Some(3), Launcher::Pmi)));
        assert_eq!(of(&[("PMIX_RANK", "5")]), Some((5, None, Launcher::Pmix)));
        let step = [
            ("SLURM_PROCID", "1"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("SLURM_JOB_ID", "7"),
            ("SLURM_STEP_ID", "0"),
        ];
        assert_eq!(of(&step), Some((1, Some(4), Launcher::Slurm)));
        let with_pmix = [&step[..], &[("PMIX_RANK", "1")]].concat();
        assert_eq!(of(&with_pmix), Some((1, Some(4), Launcher::Pmix)));
    }

    #[test]
    fn a_batch_script_is_one_process() {
        let batch = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4"), ("SLURM_JOB_ID", "7")];
        assert_eq!(of(&batch), None);
        let shell = [
            ("SLURM_PROCID", "0"),
            ("SLURM_STEP_NUM_TASKS", "1"),
            ("SLURM_JOB_ID", "7"),
            ("SLURM_STEP_ID", "0"),
        ];
        assert_eq!(of(&shell), None);
    }
}
