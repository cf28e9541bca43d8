"""Every way to multiply a sparse matrix, in both languages, at every edge on a real GPU: right by all gates. Skipped,
with the reason, where there is none."""

import importlib

import numpy as np
import pytest

from gpukit import devices, gpu, plugins
from gpukit.compilers import toolkit
from gpukit.registry import CPP, NUMBA

plugins.load("spmv")
checks = importlib.import_module("gpukit_labs.spmv.checks")
edges = importlib.import_module("gpukit_labs.spmv.matrices.edges")
products = importlib.import_module("gpukit_labs.spmv.products")

WHY_NOT = gpu.missing()
NO_COMPILER = toolkit.why_no_nvrtc()
pytestmark = [
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "there is a GPU"),
    pytest.mark.filterwarnings("default"),  # of CuPy and numba-cuda, which are not ours
]
needs_nvrtc = pytest.mark.skipif(bool(NO_COMPILER), reason=NO_COMPILER or "there is a compiler")
LANGUAGES = [NUMBA, pytest.param(CPP, marks=needs_nvrtc)]
TYPES = [(np.float32, np.int32), (np.float64, np.int32), (np.float32, np.int64), (np.float64, np.int64)]
FACTORS = 0, 1, -1, 2.5


@pytest.fixture(scope="module")
def device():
    return devices.device("gpu")


def faults(way, language, device, csr, alpha=1, beta=0):
    def multiply(csr, x, y, alpha, beta):
        products.product(way, csr, x, y, alpha, beta, language=language, device=device).run(device)
        device.synchronize()

    return checks.faults_of(multiply, csr, alpha, beta, device.xp)


@pytest.mark.parametrize("way", products.WAYS)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("dtype", "pointer"), TYPES)
def test_every_way_is_right_on_every_edge(way, language, dtype, pointer, device):
    found = {}
    for name, make in edges.EDGES.items():
        found[name] = faults(way, language, device, make().astype(dtype, pointer))
    assert {name: some for name, some in found.items() if some} == {}


@pytest.mark.parametrize("way", products.WAYS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_alpha_and_beta(way, language, device):
    for name in ("ragged", "no_entries", "no_columns", "empty_rows_between", "around_the_sizes_of_groups"):
        csr = edges.EDGES[name]()
        found = [fault for a in FACTORS for b in FACTORS for fault in faults(way, language, device, csr, a, b)]
        assert found == [], name


@pytest.mark.parametrize("way", products.WAYS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_product_has_the_same_bits_every_time(way, language, device):
    """No kernel adds in an order that depends on which warp comes first."""
    trial = checks.as_stored(edges.around_the_sizes_of_groups())
    csr, x = trial.csr.on(device.xp), device.xp.asarray(trial.x)
    y = device.xp.empty(csr.rows, np.float32)
    made = products.product(way, csr, x, y, language=language, device=device)
    answers = set()
    for _ in range(20):
        y.fill(np.nan)
        made.run(device)
        device.synchronize()
        answers.add(device.to_host(y).tobytes())
    assert len(answers) == 1
