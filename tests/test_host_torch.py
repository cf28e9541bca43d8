"""Host code that uses PyTorch: what a file may hold, what its child may do, and what a test counts of it."""

import ast
import dataclasses
import importlib
import io
import sys
import types
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gpukit.labs import session
from gpukit.labs.errors import LabError, TaskFailure
from gpukit.labs.folders import Lab
from gpukit.labs.release import from_the_tree
from gpukit.sandbox import Limits, host, running
from gpukit.sandbox.host_counts import COUNTERS
from gpukit.sandbox.policy import refusals
from gpukit.sandbox.vocabulary import ATTRIBUTES, AUTOGRAD, FUNCTIONAL, TORCH, words

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the walls of Linux")
needs_torch = pytest.mark.skipif(not running.installed("torch"), reason="PyTorch is not installed")
ROOT = Path(__file__).parents[1]

HEAD = """\
import numpy as np
import torch
import torch.nn.functional as F

"""
TRAINING = HEAD + (
    '''
RATE = 0.5


def loss_of(table, ids, labels):
    return F.binary_cross_entropy_with_logits(F.embedding(ids, table).sum(1), labels)


def train(table, ids, labels, steps, way):
    """Steps of gradient descent on the rows of a table, one way or another; the table and the losses."""
    ids, labels = torch.from_numpy(ids), torch.from_numpy(labels)
    table = torch.tensor(table, requires_grad=True)
    losses = []
    for _ in range(steps):
        if way == "rows":
            rows = table.detach()[ids].requires_grad_()
            loss = F.binary_cross_entropy_with_logits(rows.sum(1), labels)
            (gradient,) = torch.autograd.grad(loss, rows)
            with torch.no_grad():
                table.index_add_(0, ids, gradient, alpha=-RATE)
        else:
            loss = loss_of(table, ids, labels)
            loss.backward()
            with torch.no_grad():
                table -= RATE * table.grad
            table.grad = None
        losses.append(loss.item() if way == "item" else loss.detach())
    losses = [losses] if way == "item" else torch.stack(losses)
    return table.detach().numpy(), np.asarray(losses).reshape(-1)
'''
)


# --- what a file may hold ------------------------------------------------------------------------------------------


def test_a_training_loop_holds_nothing_to_refuse():
    assert refusals(TRAINING, ["loss_of", "train"]) == []
    for imports in ("import torch.nn.functional as F", "from torch.nn import functional as F"):
        assert refusals(f"{imports}\nfrom torch import zeros\ndef f(n):\n    return F.relu(zeros(n))\n", ["f"]) == []
    spelt_out = "import torch.nn.functional\nTYPE = torch.float32\n"
    spelt_out += "def f(x: torch.Tensor):\n    return torch.nn.functional.relu(x.to(TYPE))\n"
    assert refusals(spelt_out, ["f"]) == []


SIDE_DOORS = words("""
load save from_file frombuffer ops jit compile hub utils multiprocessing distributed cuda library storage classes fx
UntypedStorage TypedStorage FloatStorage Storage UntypedTensor _C export package profiler serialization optim nn
autograd onnx func vmap overrides set_default_device set_num_threads set_flags set_printoptions manual_seed rand randn
Generator as_strided fft_load device enable_grad set_grad_enabled inference_mode from_dlpack to_dlpack import_ir_module
mps cpu autocast compiler thread_safe_generator use_deterministic_algorithms sparse_coo_tensor set_warn_always
__config__ Stream
""")
OF_TENSORS = words("""
data_ptr set_ storage untyped_storage share_memory_ register_hook register_post_accumulate_grad_hook apply_ map_ map2_
resize_ as_strided pin_memory is_shared as_subclass module_load grad_fn data cuda type record_stream _make_subclass
__dlpack__ _typed_storage to_sparse const_data_ptr put_ names storage_offset type_tensor random_ normal_ _backward_hooks
""")


@pytest.mark.parametrize("name", sorted(SIDE_DOORS))
def test_side_doors_of_the_package_are_refused(name):
    for text in (
        f"import torch\ndef f(n):\n    return torch.{name}(n)\n",
        f"import torch\ndef f(n):\n    return torch.{name}.a.b(n)\n",
        f"import torch\nX = torch.{name}\ndef f(n):\n    return X(n)\n",
        f"import torch\ndef f(n, x=torch.{name}):\n    return x\n",
        f"from torch import {name} as x\ndef f(n):\n    return x(n)\n",
    ):
        if name not in ("nn", "autograd") or "a.b" not in text:
            assert refusals(text, ["f"]), text
    assert name not in TORCH


@pytest.mark.parametrize("name", sorted(OF_TENSORS))
def test_side_doors_of_tensors_are_refused(name):
    assert any(f".{name}`" in str(found) for found in refusals(f"def f(x):\n    return x.{name}(None)\n", ["f"]))
    assert name not in ATTRIBUTES


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("t = torch\n    return t.load(n)", "the module `torch` as a value"),
        ("return [F][0]", "the module `F` as a value"),
        ("return (lambda m: m.cpu)(torch)", "the module `torch` as a value"),
        ("return torch.nn", "`torch.nn` in the host function"),
        ("return torch.nn.Module", "`torch.nn.Module`"),
        ("a = torch.autograd\n    return a.grad", "`torch.autograd`"),
        ("return torch.autograd.Function", "`torch.autograd.Function`"),
        ("return F.torch.load(n)", "`F.torch`"),
        ("return F.grad", "`F.grad`"),
        ("return F.handle_torch_function", "`F.handle_torch_function`"),
        ("return torch.Tensor.__subclasses__()", "`__subclasses__`"),
        ("return torch.tensor.__self__", "`__self__`"),
        ("torch.relu = abs", "an assignment to `torch.relu`"),
        ("torch.Tensor.item = abs", "an assignment to `torch.Tensor.item`"),
        ("T = torch.Tensor\n    T.numpy = abs", "an assignment to `T.numpy`"),
        ("for n.numpy in [abs]: pass", "an assignment to `n.numpy`"),
        ("del F.relu", "an assignment to `F.relu`"),
        ("def g(torch): return torch\n    return g(n)", "`torch`, an import, is also a variable"),
        ("return n.to('cuda:0')", "name no device"),
        ("with torch.no_grad() as x: pass", "the only one is `with torch.no_grad():`"),
        ("with torch.no_grad(n): pass", "the only one is `with torch.no_grad():`"),
        ("with torch.no_grad(), open('x'): pass", "the only one is `with torch.no_grad():`"),
        ("with torch.autograd.grad(): pass", "the only one is `with torch.no_grad():`"),
        ("with n.no_grad(): pass", "the only one is `with torch.no_grad():`"),
        ("with np.no_grad(): pass", "the only one is `with torch.no_grad():`"),
        ("with torch.no_grad: pass", "the only one is `with torch.no_grad():`"),
    ],
)
def test_ways_round_the_list_are_refused(body, said):
    found = refusals(f"{HEAD}def f(n):\n    {body}\n", ["f"])
    assert any(said in str(refusal) for refusal in found), found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import torch.utils", "an import of torch.utils"),
        ("import torch.cuda", "an import of torch.cuda"),
        ("import torch.multiprocessing as m", "an import of torch.multiprocessing"),
        ("from torch.utils import data", "an import of torch.utils"),
        ("from torch.nn import Module", "`Module` of torch.nn"),
        ("from torch.nn.functional import torch", "`torch` of torch.nn.functional"),
        ("from torch.autograd import Function", "`Function` of torch.autograd"),
        ("from torch import *", "name what you import"),
        ("import torch\nT = torch", "the module `torch` as a constant"),
        ("import torch.nn.functional as F\nT = (1, F)", "the module `F` as a constant"),
        ("import numpy as np\nREAD = np.load", "`np.load` in a constant"),
        ("import torch\nX = torch.zeros(3)", "the call `torch.zeros(...)` in a constant"),
        ("import torch\n@torch.no_grad()\ndef f(x): pass", "the only one is @cuda.jit"),
    ],
)
def test_ways_round_it_outside_functions_are_refused(text, said):
    assert any(said in str(refusal) for refusal in refusals(text, ["f"]))


@needs_torch
def test_no_name_that_may_be_used_is_a_module():
    """Not even as an attribute of what was got by one: two modules are, of the package's, which no expression is."""
    torch = importlib.import_module("torch")
    functional = torch.nn.functional
    parts = ((torch, TORCH), (functional, FUNCTIONAL), (torch.autograd, AUTOGRAD))
    values = [(f"{module.__name__}.{name}", getattr(module, name)) for module, names in parts for name in names]
    tensor = torch.ones(2, 2, requires_grad=True)
    values += [("tensor", tensor), ("sizes", tensor.shape), ("device", tensor.device), ("no_grad", torch.no_grad())]
    values += [("sorted", tensor.sort()), ("method", tensor.add), ("function", functional.relu)]
    assert len(values) > 200
    for where, value in values:
        names = [name for name in ATTRIBUTES - {"imag"} if name in dir(value)]
        reached = [(where, value), *((f"{where}.{name}", getattr(value, name)) for name in names)]
        assert not [name for name, found in reached if isinstance(found, types.ModuleType)]


@pytest.mark.parametrize("room", ["sandbox", "grading"])
def test_no_module_here_imports_torch_by_itself(room):
    for path in (ROOT / "gpukit" / room).rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            assert not any(f"{getattr(node, 'module', '')}.{name}".split(".")[0] == "torch" for name in names), path
            assert "torch" not in names, path


# --- without PyTorch -----------------------------------------------------------------------------------------------


def test_without_pytorch_a_student_reads_one_sentence(monkeypatch):
    monkeypatch.setattr(host, "installed", lambda package: package != "torch")
    monkeypatch.setattr(host, "run", None)
    said = 'this lab needs PyTorch: python -m pip install -e ".[ctr]"'
    found = host.call(TRAINING, "student.py", "train", [(), ()], names=["train"])
    assert [(result.value, result.error) for result in found] == [(None, said)] * 2


def test_a_package_is_a_folder_with_an_init_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "folder_alone").mkdir()
    (tmp_path / "file_alone.py").write_text("raise SystemExit\n")
    assert not any(map(running.installed, ("folder_alone", "file_alone", "nothing_at_all")))
    assert running.installed("numpy")


@pytest.fixture
def lab_of_torch(tmp_path):
    folder = tmp_path / "09_torch"
    folder.mkdir()
    (folder / "solution.py").write_text(TRAINING)
    (folder / "README.md").write_text("# Lab 9: Torch\n")
    (folder / "test_lab.py").write_text('HOST = ("loss_of", "train")\n')
    return Lab(folder)


def test_what_a_lab_needs_is_installed_where_it_is_graded_and_given_out(lab_of_torch):
    from gpukit.grading.autograder import autograder

    setup = zipfile.ZipFile(io.BytesIO(autograder(lab_of_torch.path))).read("setup.sh").decode()
    assert 'pip install --no-cache-dir "/autograder/source[ctr]"' in setup
    assert from_the_tree([lab_of_torch]) == "./gpukit.zip[compiled,ctr]"
    plain = Lab(ROOT / "labs" / "01_execution")
    assert (plain.extras, from_the_tree([plain])) == ((), "./gpukit.zip[compiled]")
    assert "torch" not in zipfile.ZipFile(io.BytesIO(autograder(plain.path))).read("setup.sh").decode()


def test_nobody_is_graded_where_nobodys_answer_could_run(lab_of_torch, monkeypatch):
    from gpukit.cli import grading
    from gpukit.errors import GpukitError

    grading.refuse_missing_packages(Lab(ROOT / "labs" / "01_execution"))
    monkeypatch.setattr(running, "installed", lambda package: False)
    with pytest.raises(GpukitError, match="this lab needs PyTorch"):
        grading.refuse_missing_packages(lab_of_torch)


# --- in the child --------------------------------------------------------------------------------------------------


def problem(steps=20, way="rows"):
    rng = np.random.default_rng(3)
    table = rng.normal(size=(50, 4)).astype(np.float32)
    ids = rng.permutation(50)[:16]  # no row twice, so that all ways add up the same
    return table, ids, rng.integers(0, 2, 16).astype(np.float32), steps, way


def expected(table, ids, labels, steps, way):
    """The same in NumPy, in float64."""
    table, losses = table.astype(np.float64), []
    for _ in range(steps):
        logits = table[ids].sum(1)
        losses.append(np.mean(np.logaddexp(0, logits) - labels * logits))
        table[ids] -= 0.5 * ((1 / (1 + np.exp(-logits)) - labels) / len(ids))[:, None]
    return table, losses


# One call a case, all in one child: case -> what it returns, or what its error says.
CASES = {
    "return torch.zeros(3)": "it returned a value of type Tensor: return x.detach().numpy(), or x.item()",
    "return [1, (torch.zeros(3),)]": "it returned a value of type Tensor: return x.detach().numpy()",
    "return torch.ones(2, requires_grad=True).numpy()": "Use tensor.detach().numpy() instead. at student.py:",
    "return torch.ones(1 << 40).item()": "MemoryError: it asks for more memory than host code may have at student.py",
    "return torch.ones(1).expand(1 << 30).numpy()": "it returned more than 4,194,304 bytes",
    "return F.embedding(torch.tensor([9]), torch.ones(3, 2)).numpy()": "IndexError: index out of range",
    "return torch.zeros(3, device='cud' + 'a').item()": "Error: ",
    "print(torch.ones(3)); return 1": 1,
    "return f'{torch.ones(2)} {torch.tensor(0.5):.2f}'": "tensor([1., 1.]) 0.50",
    "return torch.unique(torch.tensor([3, 1, 3])).tolist()": [1, 3],
    "return torch.matmul(torch.ones(300, 300), torch.ones(300, 300)).sum().item()": 27e6,
    "return torch.sort(torch.arange(100_000).flip(0))[0][0].item()": 0,
    "return F.cross_entropy(torch.zeros(2, 2), torch.tensor([0, 1])).item()": pytest.approx(np.log(2)),
    "return float(np.asarray(torch.ones(3)).sum())": 3.0,
    # What the policy refuses, as somebody would who got round it.
    "return torch.load('/etc/passwd', weights_only=False)": "PermissionError",
    "return torch.from_file('/etc/passwd', size=8, dtype=torch.uint8).tolist()": "Error: ",
    "torch.save(torch.ones(3), 'written')": "Error: ",
    "return torch.ops.load_library('/etc/passwd')": "Error: ",
    "return torch.ones(3).share_memory_().tolist()": "Error: ",
    "return torch.multiprocessing.Process(target=print).start()": "Error: ",
    "return torch.hub.os.listdir('/')": "PermissionError",
    "return torch.hub.os.system('true')": "PermissionError",
    "return torch.hub.os.fork()": "PermissionError",
    "return torch.compile(lambda x: x + 1, backend='eager')(torch.ones(3)).tolist()": "Error: ",
    "return torch.hub.os.environ.get('HOME', 'none')": "none",
}


@needs_torch
@linux
def test_the_child_computes_and_does_no_more():
    source = HEAD + "def f(case):\n"
    for number, case in enumerate(CASES):
        source += f"    if case == {number}:\n" + "".join(f"        {line.strip()}\n" for line in case.split(";"))
    results = host.call(source, "student.py", "f", [(number,) for number in range(len(CASES))], names=["f"])
    for (case, wanted), result in zip(CASES.items(), results, strict=True):
        if result.error:
            assert isinstance(wanted, str) and wanted in result.error and len(result.error) < 400, (case, result)
        else:
            assert result.value == wanted, (case, result)


MOST = """
import numpy as np
{more}
def most():
    {use}
    size = 0
    while True:
        try:
            kept = np.empty((size + 1) << 23, np.uint8)
        except Exception:
            return size
        size += 1
"""


@needs_torch
@linux
def test_with_pytorch_there_is_no_more_memory_than_without():
    """In steps of 8 MiB: what one array may have at most."""
    found = []
    for more, use in (("", "pass"), ("import torch", "torch.ones(3)")):
        (result,) = host.call(MOST.format(more=more, use=use), "s.py", "most", [()], names=["most"])
        assert not result.error
        found.append(result.value * 8)
    without, with_torch = found
    assert without * 0.6 < with_torch <= without <= 1024


@needs_torch
@linux
def test_a_loop_without_end_is_ended_and_no_thread_was_started(tmp_path):
    source = HEAD + "def f(x):\n    while True:\n        x = F.relu(torch.ones(1000) + 1)\n"
    limits = Limits(seconds=0.5, cpu_seconds=1)
    (result,) = host.call(source, "student.py", "f", [(1,)], names=["f"], limits=limits)
    assert result.error == "`f` did not end within 0.5 s"

    program = tmp_path / "threads.py"
    program.write_text(
        "import os\nfrom gpukit.sandbox import host_child\n"
        "def prepare(arguments):\n    host_child.prepare(arguments)\n    global torch\n    import torch\n"
        "def main(arguments):\n"
        "    x = torch.ones(500, 500, requires_grad=True)\n"
        "    ((x @ x).sigmoid().sum() + torch.sort(x)[0].sum() + x[torch.arange(400)].sum()).backward()\n"
        "    print(len(os.listdir('/proc/self/task')), torch.get_num_threads())\n"
    )
    done = running.run(
        [program, "numpy", "torch"], readable=[Path("/proc")], limits=Limits(30.0), packages=["numpy", "torch"]
    )
    assert (done.output.split(), done.errors) == ([b"1", b"1"], "")


# --- counting ------------------------------------------------------------------------------------------------------

# Case -> what is counted of it besides operations, copies and bytes written.
COUNTED = {
    "return 1": {},
    "return x.sum().item()": {"host_reads": 1},
    "return float(x[0]) + int(x[1]) + bool(x[2])": {"host_reads": 3},
    "return 1 if x.sum() > 0 else 2": {"host_reads": 1},
    "return [1 for v in x if v > 0]": {"host_reads": 8},
    "return x.tolist()": {"host_reads": 1},
    "read = x.tolist\n        return read() + read()": {"host_reads": 2},
    "return x.numpy()": {"host_reads": 1},
    "return x.detach().cpu().numpy()": {"host_reads": 1},
    "return (x.cpu() + 1).numpy()": {"host_reads": 2},
    "return x.cpu().sum().item() + x.cpu()[0].item()": {"host_reads": 4},
    "h = x.cpu()\n        h.copy_(x + 1)\n        return h.tolist()": {"host_reads": 2},
    "return [v.to('cpu') for v in x] and 1": {"host_reads": 8},
    "return np.asarray(x)": {"host_reads": 1},
    "return np.add(x.detach(), 1) is None": {"host_reads": 1, "uploads": 1},
    "return f'{x[0]:.3f}'": {"host_reads": 1},
    "return f'{x}'": {"host_reads": 1},
    "return len(x) + x.shape[0]": {},
    "return len(x[x > 3])": {"host_reads": 1},
    "return len(x.nonzero()) + len(torch.unique(x))": {"host_reads": 2},
    "return len(x.repeat_interleave(i))": {"host_reads": 1},
    "return len(x.repeat_interleave(i, output_size=28))": {},
    "return torch.equal(x, x)": {"host_reads": 1},
    "return len(x[i[0]:])": {"host_reads": 1},
    "y = torch.from_numpy(np.ones(8)) + torch.tensor([1.0]) + torch.tensor(2.0)": {"uploads": 2},
    "y = x[[0, 1]]": {"uploads": 1},
    "y = torch.full((8,), 2.0) + torch.zeros(8) + torch.arange(8)": {},
    "F.embedding(i, w).sum().backward()": {"dense_gradient_bytes": 800},
    "w[i].sum().backward()": {"dense_gradient_bytes": 800},
    "w.index_select(0, i).sum().backward()": {"dense_gradient_bytes": 800},
    "torch.autograd.grad(F.embedding(i, w).sum(), w)": {"dense_gradient_bytes": 800},
    "F.embedding(i, w, sparse=True).sum().backward()": {},
    "(w * 2).sum().backward()": {},
    "F.linear(x[:4], w).sum().backward()": {},
}
COUNTING = (
    HEAD
    + "def f(case):\n    x = torch.arange(8.0)\n    i = torch.arange(8)\n"
    + "    w = torch.ones(50, 4, requires_grad=True)\n"
    + "".join(f"    if case == {n}:\n        {case}\n" for n, case in enumerate(COUNTED))
    + "    return 0\n"
)


@needs_torch
def test_what_would_wait_for_a_gpu_or_write_a_whole_table_is_counted():
    calls = [(number,) for number in range(len(COUNTED))]
    results = host.call(COUNTING, "student.py", "f", calls, names=["f"], count=True)
    lines = COUNTING.splitlines()
    for (case, wanted), result in zip(COUNTED.items(), results, strict=True):
        assert not result.error, (case, result)
        assert set(result.counts) == set(COUNTERS)
        special = ("host_reads", "uploads", "dense_gradient_bytes")
        assert {name: result.counts[name] for name in special if result.counts[name]} == wanted, case
        for name in wanted:
            assert lines[result.lines[name] - 1].strip() in case, (case, name)
    least = results[0].counts
    assert (least["operations"], least["copies"], least["written_bytes"]) == (3, 0, 4 * 8 + 8 * 8 + 4 * 200)


@pytest.fixture(scope="module")
def trained():
    """Way -> what came of 20 counted steps."""
    ways = ("rows", "dense", "item")
    calls = [problem(way=way) for way in ways]
    results = host.call(TRAINING, "student.py", "train", calls, names=["loss_of", "train"], count=True)
    return dict(zip(ways, results, strict=True))


@needs_torch
def test_a_loop_computes_the_same_when_it_is_counted(trained):
    table, losses = expected(*problem())
    for way, result in trained.items():
        assert not result.error, (way, result)
        np.testing.assert_allclose(result.value[0], table, atol=1e-5)
        np.testing.assert_allclose(result.value[1], losses, atol=1e-5)
    (uncounted,) = host.call(TRAINING, "student.py", "train", [problem(way="dense")], names=["loss_of", "train"])
    assert np.array_equal(uncounted.value[0], trained["dense"].value[0]) and not uncounted.counts


@needs_torch
def test_each_way_to_train_costs_what_it_costs(trained):
    rows, dense, item = (trained[way].counts for way in ("rows", "dense", "item"))
    table = 50 * 4 * 4
    assert (rows["host_reads"], dense["host_reads"], item["host_reads"]) == (2, 2, 21)
    assert (rows["dense_gradient_bytes"], dense["dense_gradient_bytes"]) == (0, 20 * table)
    assert dense["written_bytes"] > 20 * 3 * table > 2 * rows["written_bytes"]
    assert (rows["uploads"], rows["copies"]) == (3, 0 + rows["copies"])
    line = TRAINING.splitlines()[trained["item"].lines["host_reads"] - 1]
    assert "loss.item()" in line


ADDING = (
    HEAD
    + """def f(sparse):
    w = torch.ones(500, 4, requires_grad=True)
    F.embedding(torch.arange(6), w, sparse=sparse).sum().backward()
    with torch.no_grad():
        w.add_(w.grad, alpha=-1)
    return float(w.sum())
"""
)


@needs_torch
def test_a_sparse_gradient_is_added_to_its_rows_alone():
    dense, sparse = host.call(ADDING, "student.py", "f", [(False,), (True,)], names=["f"], count=True)
    assert dense.value == sparse.value == 500 * 4 - 6 * 4
    table, rows, ids = 500 * 4 * 4, 6 * 4 * 4, 6 * 8
    assert 3 * table <= dense.counts["written_bytes"] < 4 * table  # made, then its gradient, then changed
    assert sparse.counts["written_bytes"] < table + 4 * (rows + ids)


# --- in a lab's test -----------------------------------------------------------------------------------------------


@pytest.fixture
def lab(lab_of_torch, trained, monkeypatch):
    """A session whose host code was run before."""
    answer = types.SimpleNamespace(text=TRAINING, file="student.py", hole_under=lambda name: None, language="Python")
    monkeypatch.setattr(host, "call", lambda *args, count, **more: [trained["item"]])
    return session.Session(lab_of_torch, answer, None, "test_9_1_train", seed=1)


@needs_torch
def test_a_bound_that_is_missed_says_why_and_where(lab):
    (run,) = lab.host_counted("train", [problem()])
    assert lab.host("train", [problem()]) == [run.value]
    lab.within("train(...)", run, at_most={"host_reads": 21}, at_least={"operations": 100})
    with pytest.raises(TaskFailure) as failure:
        lab.within("train(...)", run, at_most={"host_reads": 1, "dense_gradient_bytes": 0}, about="20 steps")
    said = str(failure.value)
    line = run.lines["host_reads"]
    assert (
        "the answer is right, but it reads the GPU 21 times in 20 steps: each read waits until all queued work is done"
    ) in said
    assert f"host_reads is 21: at most 1 allowed, most of it in line {line}" in said
    assert "dense_gradient_bytes is 16,000: at most 0 allowed" in said
    assert "keep what you add up in a tensor" in said
    assert failure.value.finding.line == line


@needs_torch
def test_code_that_leaves_pytorch_is_told_so(lab):
    (run,) = lab.host_counted("train", [problem()])
    idle = dataclasses.replace(run, counts={**run.counts, "operations": 2})
    with pytest.raises(TaskFailure, match="it starts 2 operations, too few for this work"):
        lab.within("train(...)", idle, at_least={"operations": 20})


@needs_torch
@pytest.mark.parametrize("counter", COUNTERS)
def test_every_counter_has_its_sentence(lab, counter):
    (run,) = lab.host_counted("train", [problem()])
    many = dataclasses.replace(run, counts={**run.counts, counter: 1234})
    with pytest.raises(TaskFailure, match=r"but it .*1,234.*: "):
        lab.within("train(...)", many, at_most={counter: 1})


@needs_torch
def test_bounds_that_bound_nothing_are_the_labs_mistake(lab):
    (run,) = lab.host_counted("train", [problem()])
    with pytest.raises(LabError, match="bounds no counter"):
        lab.within("train(...)", run)
    with pytest.raises(LabError, match=r"'reads', which lab\.host_counted does not count: operations, host_reads"):
        lab.within("train(...)", run, at_most={"reads": 1})


@pytest.mark.parametrize(
    "rows",
    [[], [("operations", 1, 2)], [("operations", -1, 0)], [("operations", 1.5, 0)], [["x"]], 3, [(1, 2, 3)] * 6],
)
def test_counts_that_are_not_as_they_should_be_are_no_answer(rows):
    assert host._counted((1, rows)) is None
    assert host._counted(rows) is None
