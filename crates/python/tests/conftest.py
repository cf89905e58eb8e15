"""What the tests share."""

import os

import hypothesis
import pytest

import wootz
from wootz import compute

hypothesis.settings.register_profile(
    "wootz", deadline=None, max_examples=25, suppress_health_check=list(hypothesis.HealthCheck)
)
hypothesis.settings.load_profile("wootz")

BACKENDS = [compute.CpuBackend, compute.MetalBackend, compute.WebGpuBackend]

# Reasons that no machine can help with: the test is about another system, another kind of interpreter, or nothing.
INAPPLICABLE = (
    "this system has no fork",
    "there is no fork here",
    "limits of address space are Linux's",
    "signals are sent the POSIX way",
    "this interpreter has its lock",
    "this backend takes no source",
    # Its wheel is several gigabytes of CUDA; the same test with JAX always runs.
    "PyTorch is not installed; JAX stands in for it",
)
skipped = []


def pytest_runtest_logreport(report):
    record_skip(report)


def pytest_collectreport(report):
    record_skip(report)


def record_skip(report):
    """Notes a test that could have run on a machine with more installed. `scripts/test` counts them."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if reason in INAPPLICABLE:
        return
    skipped.append(f"{report.nodeid}: {reason}")
    if path := os.environ.get("WOOTZ_SKIPPED"):
        with open(path, "a") as file:
            file.write(f"{reason}\n")


def pytest_terminal_summary(terminalreporter):
    for line in skipped:
        terminalreporter.write_line(f"skipped: {line}")


def pytest_sessionfinish(session):
    """What is skipped in CI runs nowhere."""
    if skipped and os.environ.get("CI") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(params=BACKENDS, ids=lambda kind: kind.backend_type.value)
def backend(request):
    """Each backend that this machine has."""
    made = request.param()
    if not made.is_available:
        names = ", ".join(device.name for device in wootz.devices())
        pytest.skip(f"no {made.backend_type.value} device here; there are: {names}")
    return made
