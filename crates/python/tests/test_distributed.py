"""Work over ranks: every collective against NumPy and mpi4py on the same ranks, with MPICH and Open MPI."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import wootz
from wootz import distributed

CASES = pathlib.Path(__file__).with_name("distributed_cases.py")
FULL = os.environ.get("WOOTZ_FULL") == "1"
MPICH = pathlib.Path(sys.prefix) / "bin" / "mpiexec.hydra"
OPEN_MPI = shutil.which("mpirun.openmpi")


def launcher(name):
    """The command and the environment that start ranks with a library."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", WOOTZ_THREADS="1", WOOTZ_MPI_TIMEOUT="120")
    if name == "mpich":
        if not MPICH.exists():
            pytest.skip("mpich is not installed in the virtual environment")
        environment |= {"MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": str(MPICH.parent.parent / "lib")}
        return [str(MPICH), "-iface", "lo"], environment
    if OPEN_MPI is None:
        pytest.skip("Open MPI is not installed")
    environment |= {
        "MPI4PY_MPIABI": "openmpi", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_pml": "ob1",
    }
    return [OPEN_MPI], environment


def run(name, ranks, *program):
    command, environment = launcher(name)
    return subprocess.run([*command, "-n", str(ranks), sys.executable, *map(str, program)], env=environment, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_collectives_are_those_of_numpy(name, ranks):
    pytest.importorskip("mpi4py")
    ended = run(name, ranks, CASES)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"passed on {ranks} ranks" in ended.stdout


def test_an_exception_on_one_rank_reaches_the_others():
    program = (
        "import wootz, wootz.distributed as d\n"
        "g = d.init(strict=True)\n"
        "if g.rank() == 1: raise ValueError('no more of this')\n"
        "d.all_sum(wootz.asarray([1.0])).eval()\n"
    )
    ended = run("mpich", 2, "-c", program)
    assert ended.returncode != 0
    assert "ValueError: no more of this" in ended.stderr and "DeviceError: mpi: rank 1 (process" in ended.stderr, ended.stderr


def test_a_process_alone_needs_no_mpi():
    group = distributed.init()
    assert (group.rank(), group.size()) == (0, 1)
    x = wootz.asarray([1.0, 2.0])
    assert distributed.all_sum(x).tolist() == distributed.all_gather(x).tolist() == [1.0, 2.0]
    assert distributed.gather(distributed.shard(x) * 2.0).tolist() == [2.0, 4.0]
    with pytest.raises(wootz.errors.ArgumentError, match="no rank 3"):
        distributed.send(x, 3)
    with pytest.raises(wootz.errors.ArgumentError, match="backend"):
        distributed.init(backend="ring")
