"""What the tests share."""

import hypothesis
import pytest

import wootz
from wootz import compute

hypothesis.settings.register_profile(
    "wootz", deadline=None, max_examples=25, suppress_health_check=list(hypothesis.HealthCheck)
)
hypothesis.settings.load_profile("wootz")

BACKENDS = [compute.CpuBackend, compute.MetalBackend, compute.WebGpuBackend]


@pytest.fixture(params=BACKENDS, ids=lambda kind: kind.backend_type.value)
def backend(request):
    """Each backend that this machine has."""
    made = request.param()
    if not made.is_available:
        names = ", ".join(device.name for device in wootz.devices())
        pytest.skip(f"no {made.backend_type.value} device here; there are: {names}")
    return made
