"""Pointers that device code keeps: they mean the same array in the next launch, and nothing once it is gone."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from compiled.launches import kernel, launch

from gpukit import cupy
from gpukit.errors import LaunchError
from gpukit.machine.addresses import FIRST, AddressBook
from gpukit.machine.memory import flat_bytes


def test_an_array_keeps_its_address_and_no_other_gets_it():
    book = AddressBook()
    x, y = np.zeros(100, np.float32), np.zeros(3, np.int8)
    assert book.address(x, "x") == FIRST == book.address(x, "other")
    second = book.address(y, "y")
    assert second % 256 == 0 and second >= FIRST + x.nbytes + 256
    assert book.address(x[5:], "view") == FIRST + 20
    assert book.find(FIRST + 399)[1] is x and book.find(FIRST + 400) is None
    del x
    gc.collect()
    assert book.find(FIRST) is None
    assert [place.name for place in book.former] == ["x"]
    assert book.address(np.zeros(100, np.float32), "z") > second


def test_a_view_that_outlives_its_name_keeps_the_array():
    book = AddressBook()
    x = np.zeros(8)
    book.address(x, "x")
    view = x[2:]
    del x
    gc.collect()
    assert book.address(view, "v") == FIRST + 16


KEEP = "ld.param.u64 %q1, [a0]; ld.param.u64 %q2, [a1]; st.global.u64 [%q1], %q2;"
USE = "ld.param.u64 %q1, [a0]; ld.global.u64 %q2, [%q1]; ld.global.b32 %r1, [%q2+4]; st.global.b32 [%q2+8], %r1;"


def test_a_pointer_that_one_launch_stored_is_good_in_the_next():
    table, data = np.zeros(1, np.uint64), np.array([1, 2, 3, 4], np.int32)
    launch(kernel(KEEP, "u64", "u64", names=["table", "data"]), 1, table, data)
    outcome = launch(kernel(USE, "u64", names=["table"]), 1, table)
    assert data.tolist() == [1, 2, 2, 4] and not outcome.kinds


def test_a_pointer_to_an_array_that_is_gone_is_named():
    table = np.zeros(1, np.uint64)
    launch(kernel(KEEP, "u64", "u64", names=["table", "data"]), 1, table, np.array([1, 2, 3, 4], np.int32))
    gc.collect()
    outcome = launch(kernel(USE, "u64", names=["table"]), 1, table)
    assert outcome.kinds == ["oob_global_read", "oob_global_write"]
    assert all(
        "data" in h.message and "no longer exists" in h.message for h in outcome.hazards if h.severity == "error"
    )


def test_a_number_may_stand_for_a_pointer():
    table, data = np.zeros(1, np.uint64), np.array([1, 2, 3, 4], np.int32)
    launch(kernel(KEEP, "u64", "u64", names=["table", "data"]), 1, table, data)
    outcome = launch(kernel(KEEP.replace("%q2;", "7;"), "u64", "u64", names=["to", "unused"]), 1, table[0], None)
    assert data[:2].view(np.int64)[0] == 7 and not outcome.kinds


def test_a_view_lies_where_it_lies_in_its_array():
    body = """
        ld.param.u64 %q1, [a0]; mov.u32 %r0, %tid.x; mad.wide.u32 %q2, %r0, 4, %q1; ld.global.f32 %f1, [%q2];
        st.global.f32 [%q2], %f1;
    """
    x = np.arange(64, dtype=np.float32)
    aligned = launch(kernel(body, "u64", names=["x"]), 32, x).counters["global_load_sectors"]
    shifted = launch(kernel(body, "u64", names=["x"]), 32, x[1:]).counters["global_load_sectors"]
    assert (aligned, shifted) == (4, 5)
    wide = "ld.param.u64 %q1, [a0]; ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%q1]; st.global.f32 [%q1], %f1;"
    assert not launch(kernel(wide, "u64", names=["x"]), 1, x[4:]).kinds
    assert "misaligned_access" in launch(kernel(wide, "u64", names=["x"]), 1, x[1:]).kinds


def test_views_that_overlap_are_one_memory():
    body = """
        ld.param.u64 %q1, [a0]; ld.param.u64 %q2, [a1]; mov.u32 %r0, %tid.x; mad.wide.u32 %q3, %r0, 4, %q1;
        mad.wide.u32 %q4, %r0, 4, %q2; ld.global.b32 %r1, [%q3]; st.global.b32 [%q4], %r1;
    """
    x = np.arange(65, dtype=np.int32)
    outcome = launch(kernel(body, "u64", "u64", names=["front", "back"]), 64, x[:64], x[1:])
    assert "race_global" in outcome.kinds
    assert not launch(kernel(body, "u64", "u64", names=["front", "back"]), 32, x[:32], x[32:64]).kinds


def test_a_read_only_array_cannot_be_written():
    x = np.zeros(4, np.int32)
    x.flags.writeable = False
    for text in ("st.global.b32 [%q1], 1;", "red.global.add.u32 [%q1], 1;"):
        with pytest.raises(LaunchError, match="writes to `x`, a read-only array") as caught:
            launch(kernel(f"ld.param.u64 %q1, [a0]; {text}", "u64", names=["x"]), 1, x)
        assert caught.value.line is not None
    launch(kernel("ld.param.u64 %q1, [a0]; ld.global.b32 %r1, [%q1];", "u64", names=["x"]), 1, x)


def test_an_access_through_a_null_pointer_is_called_so():
    text = "ld.param.u64 %q1, [a0]; ld.global.b32 %r1, [%q1+400];"
    (hazard,) = launch(kernel(text, "u64", names=["x"]), 32, None).hazards
    assert hazard.kind == "oob_global_read" and "x through a null pointer" in hazard.message


def test_an_array_of_a_subclass_is_plain_memory():
    """What the machine reads by index must not be indexed in a subclass's way."""
    made = cupy.arange(6, dtype=np.float32).reshape(2, 3)
    held = flat_bytes(made)
    assert type(held) is np.ndarray
    held[:4] = 0, 0, 0x80, 0x3F
    assert float(made[0, 0]) == 1
