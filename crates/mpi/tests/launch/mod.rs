//! Starting a test program on several ranks, with every MPI library that is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use wootz_mpi::Abi;

/// The environment variable with the case that ranks run.
pub const CASE: &str = "WOOTZ_MPI_TEST_CASE";

/// A library with its launcher.
pub struct Installed {
    pub name: &'static str,
    launcher: PathBuf,
    pub abi: Abi,
    library: Option<PathBuf>,
    /// What, in front of the program, lets the others live when a rank has died.
    pub survive: &'static [&'static str],
}

/// MPICH's launcher ends all ranks as soon as one has ended, so each one is started by a shell that outlives it. (Its option
/// `-disable-auto-cleanup` does not help: in 5.0.2 the launcher then ends itself, because it cannot tell the dead rank.)
const OUTLIVE: &[&str] = &["sh", "-c", "\"$@\"; code=$?; sleep 12; exit $code", "sh"];

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.exists())
}

/// What `scripts/setup` installs, and what else is there.
pub fn installed() -> Vec<Installed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let venv = root.join(".venv/bin/mpiexec.hydra");
    let mut list = Vec::new();
    if venv.exists() {
        let lib = |name: &str| Some(root.join(".venv/lib").join(name));
        let own =
            |name, abi, library| Installed { name, launcher: venv.clone(), abi, library, survive: OUTLIVE };
        list.push(own("mpich from pip", Abi::Mpich, lib("libmpi.so.12")));
        list.push(own("the standard's interface", Abi::Standard, lib("libmpi_abi.so.1")));
    }
    if let Some(launcher) = on_path("mpirun.mpich") {
        let survive = OUTLIVE;
        list.push(Installed { name: "mpich", launcher, abi: Abi::Mpich, library: None, survive });
    }
    if let Some(launcher) = on_path("mpirun.openmpi") {
        let survive = &["--enable-recovery"];
        list.push(Installed { name: "Open MPI", launcher, abi: Abi::OpenMpi, library: None, survive });
    }
    let required = std::env::var("WOOTZ_REQUIRE_PYTHON").is_ok_and(|set| set == "1");
    assert!(!required || list.len() >= 3, "scripts/setup installs MPICH and Open MPI");
    if list.is_empty() {
        wootz_testkit::skipped("there is no MPI launcher; run scripts/setup");
    }
    list
}

impl Installed {
    pub fn command(&self, ranks: usize) -> Command {
        let mut command = Command::new(&self.launcher);
        if self.abi != Abi::OpenMpi {
            command.args(["-iface", "lo"]);
        }
        command.args(["-n", &ranks.to_string()]);
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_oob_tcp_if_include", "lo");
        command.env("OMPI_MCA_btl", "self,vader").env("OMPI_MCA_pml", "ob1");
        if let Some(library) = &self.library {
            command.env("WOOTZ_MPI_LIBRARY", library);
        }
        command
    }

    /// Runs a case on every rank.
    pub fn run(&self, case: &str, ranks: usize, options: &[&str], timeout: &str) -> Output {
        let mut command = self.command(ranks);
        command.args(options).env("WOOTZ_MPI_TIMEOUT", timeout);
        self.program(&mut command, case);
        command.output().expect("the launcher runs")
    }

    /// Adds what each rank runs.
    pub fn program(&self, command: &mut Command, case: &str) {
        let rank = this_program(case);
        command.env(CASE, case).arg(rank.get_program()).args(rank.get_args());
    }

    /// A case in a process that no launcher starts.
    pub fn alone(&self, case: &str) -> Command {
        let mut command = this_program(case);
        command.envs(self.library.iter().map(|library| ("WOOTZ_MPI_LIBRARY", library)));
        command
    }
}

/// This program with a case: its ignored test `rank`.
pub fn this_program(case: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["--exact", "rank", "--ignored", "--nocapture", "--test-threads=1"]).env(CASE, case);
    command
}

/// All that ranks wrote.
pub fn text(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
