"""Settings shared by all tests."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from gpukit.standin import stand_in

# CI must give the same verdict twice; a developer's run may find something new.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="module")
def probe():
    """data/probes/numba_kernels.py, with numba.cuda played by the CPU machine."""
    path = Path(__file__).parents[1] / "data" / "probes" / "numba_kernels.py"
    spec = importlib.util.spec_from_file_location("numba_kernels", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["numba_kernels"] = module  # for its dataclass
    try:
        with stand_in():
            spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules["numba_kernels"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What asks numba-cuda for types comes first: once numba has compiled anything for the CPU in this process, its
    complex functions answer with other types."""
    items.sort(key=lambda item: "resolve" not in getattr(item, "fixturenames", ()))
