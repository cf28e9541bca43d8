"""ld, st, atom, red, cp.async and address conversions of PTX: values, requests and hazards."""

from __future__ import annotations

import numpy as np
import pytest
from compiled.launches import kernel, launch, per_thread

from gpukit.errors import LaunchError, UnsupportedFeature

N = 64


@pytest.mark.parametrize(
    ("kind", "dtype", "register", "expected"),
    [
        ("u8", np.uint8, "%r1", lambda x: x.astype(np.int64)),
        ("s8", np.int8, "%r1", lambda x: x.astype(np.int64)),
        ("u16", np.uint16, "%r1", lambda x: x.astype(np.int64)),
        ("s16", np.int16, "%r1", lambda x: x.astype(np.int64)),
        ("b32", np.int32, "%r1", lambda x: x.astype(np.int64)),
    ],
)
def test_narrow_loads_are_extended_by_their_sign(kind, dtype, register, expected):
    x = (np.arange(N) * 37 + 200).astype(dtype)
    out = np.zeros(N, np.int64)
    outcome = per_thread(f"ld.global.{kind} {register}, [%q3]; cvt.s64.s32 %q5, %r1; st.global.b64 [%q4], %q5;", x, out)
    assert out.tolist() == expected(x).tolist()
    assert not outcome.hazards
    assert outcome.counters["global_load_requests"] == 2
    assert outcome.counters["global_load_sectors"] == N * x.itemsize // 32


def test_narrow_stores_keep_the_low_bytes():
    x = np.arange(N, dtype=np.int32) * 1000
    for kind, dtype in (("u8", np.uint8), ("b16", np.uint16)):
        out = np.zeros(N, dtype)
        per_thread(f"ld.global.b32 %r1, [%q3]; st.global.{kind} [%q4], %r1;", x, out, hazards=False)
        assert out.tolist() == x.astype(dtype).tolist()


@pytest.mark.parametrize(("width", "dtype", "letter"), [(2, "f4", "f32"), (4, "f4", "f32"), (2, "f8", "f64")])
def test_vectors_are_one_request_of_their_whole_width(width, dtype, letter):
    x = np.arange(N * width, dtype=dtype)
    out = np.zeros(N * width, dtype)
    registers = ", ".join(f"%{letter[0] if letter == 'f32' else 'd'}{i}" for i in range(width))
    size = x.itemsize * width
    body = f"""ld.param.u64 %q1, [a0]; ld.param.u64 %q2, [a1]; mov.u32 %r0, %tid.x; mul.wide.u32 %q0, %r0, {size};
        add.s64 %q1, %q1, %q0; add.s64 %q2, %q2, %q0;
        ld.global.v{width}.{letter} {{{registers}}}, [%q1]; st.global.v{width}.{letter} [%q2], {{{registers}}};"""
    outcome = launch(kernel(body, "u64", "u64"), N, x, out)
    assert np.array_equal(x, out) and not outcome.hazards
    assert outcome.counters["global_load_requests"] == outcome.counters["global_store_requests"] == N // 32
    assert outcome.counters["global_load_sectors"] == N * size // 32


def test_shared_memory_is_reached_by_its_own_and_by_generic_addresses():
    x, out = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    declare = ".shared .align 4 .b8 a_first[12]; .shared .align 16 .b8 tile[256];"
    body = """
        ld.global.b32 %r1, [%q3]; mov.u32 %r2, tile; mad.lo.s32 %r2, %r0, 4, %r2; st.shared.b32 [%r2], %r1;
        bar.sync 0;
        mov.u64 %q5, tile; cvta.shared.u64 %q5, %q5; mul.wide.u32 %q6, %r0, 4; sub.s64 %q6, 252, %q6;
        add.s64 %q5, %q5, %q6; ld.b32 %r3, [%q5]; st.global.b32 [%q4], %r3;
    """
    outcome = per_thread(body, x, out, declare=declare)
    assert out.tolist() == x[::-1].tolist()
    assert not outcome.hazards
    counters = outcome.counters
    assert (counters["shared_store_requests"], counters["shared_load_requests"]) == (2, 2)
    assert (counters["shared_store_wavefronts"], counters["shared_load_wavefronts"]) == (2, 2)
    assert counters["global_load_requests"] == 2  # the generic load is a shared one


def test_cvta_to_shared_undoes_cvta_shared():
    x, out = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    declare = ".shared .align 4 .b8 tile[256];"
    body = """
        mov.u64 %q5, tile; cvta.shared.u64 %q5, %q5; cvta.to.shared.u64 %q6, %q5; cvt.u32.u64 %r2, %q6;
        shl.b32 %r3, %r0, 2; add.s32 %r2, %r2, %r3; st.shared.b32 [%r2], %r0; ld.shared.b32 %r4, [%r2];
        st.global.b32 [%q4], %r4;
    """
    assert not per_thread(body, x, out, declare=declare).hazards
    assert out.tolist() == x.tolist()


def test_dynamic_shared_memory_lies_behind_the_static_variables():
    x, out = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    top = ".extern .shared .align 4 .b8 rest[];"
    declare = ".shared .align 4 .b8 front[20];"
    body = """
        mov.u32 %r2, rest; mov.u32 %r3, front; sub.s32 %r4, %r2, %r3; st.global.b32 [%q4], %r4;
        mad.lo.s32 %r2, %r0, 4, %r2; st.shared.b32 [%r2], %r0;
    """
    assert not per_thread(body, x, out, top=top, declare=declare, shared=256).hazards
    assert set(out.tolist()) == {32}  # 20 bytes, up to the next multiple of 16
    outcome = per_thread(body, x, out, top=top, declare=declare, shared=128)
    assert outcome.kinds == ["oob_shared"] and "rest" in outcome.hazards[0].message


def test_local_memory_belongs_to_the_thread():
    x, out = np.arange(N, dtype=np.int32), np.zeros(N, np.int32)
    declare = ".local .align 8 .b8 depot[16];"
    body = """
        mov.u64 %q5, depot; cvta.local.u64 %q6, %q5; ld.global.b32 %r1, [%q3]; st.local.b32 [%q5+8], %r1;
        ld.b32 %r2, [%q6+8]; st.global.b32 [%q4], %r2;
    """
    assert not per_thread(body, x, out, declare=declare).hazards
    assert out.tolist() == x.tolist()


def test_constant_memory_is_no_global_request():
    x, out = np.arange(N, dtype=np.int32) % 4, np.zeros(N, np.int32)
    top = ".const .align 4 .u32 table[4] = {10, 20, 30, 40};"
    body = """
        ld.global.b32 %r1, [%q3]; mul.wide.s32 %q5, %r1, 4; mov.u64 %q6, table; add.s64 %q6, %q6, %q5;
        ld.const.u32 %r2, [%q6]; ld.const.u32 %r3, [table+4]; add.s32 %r2, %r2, %r3; st.global.b32 [%q4], %r2;
    """
    outcome = per_thread(body, x, out, top=top)
    assert out.tolist() == [(v + 1) * 10 + 20 for v in x.tolist()]
    assert outcome.counters["global_load_requests"] == 2
    assert outcome.counters["constant_loads"] == 4


def test_module_variables_keep_their_values_between_launches():
    made = kernel(
        "mov.u64 %q1, counter; atom.global.add.u32 %r1, [%q1], 2; ld.param.u64 %q2, [a0]; st.global.b32 [%q2], %r1;",
        "u64",
        top=".global .align 4 .u32 counter = 5;",
    )
    out = np.zeros(1, np.int32)
    for expected in (5, 7, 9):
        launch(made, 1, out)
        assert out[0] == expected
    assert made.module.variable("counter").view(np.uint32)[0] == 11


def test_parameters_by_value_and_by_address():
    struct = np.zeros((), dtype=[("a", "i4"), ("b", "i4"), ("w", "i4", 4)])
    struct["a"], struct["b"], struct["w"] = 7, 9, [1, 2, 3, 4]
    out = np.zeros(8, np.int32)
    body = """
        ld.param.u64 %q2, [a1]; mov.u32 %r0, %tid.x; mul.wide.u32 %q0, %r0, 4; add.s64 %q2, %q2, %q0;
        mov.u64 %q3, a0; and.b64 %q4, %q0, 12; add.s64 %q3, %q3, %q4; ld.param.b32 %r1, [%q3+8];
        ld.param.b32 %r2, [a0+4]; ld.param.v2.b32 {%r3, %r4}, [a0]; add.s32 %r1, %r1, %r2; add.s32 %r1, %r1, %r3;
        st.global.b32 [%q2], %r1;
    """
    made = kernel(body, "align 4 .b8", "u64", names=["s", "out"])
    made.function.parameters[0].count = 24
    outcome = launch(made, 8, struct, out)
    assert out.tolist() == [i % 4 + 1 + 9 + 7 for i in range(8)]
    assert not outcome.kinds and outcome.counters["global_load_requests"] == 0


@pytest.mark.parametrize(
    ("instruction", "start", "expected"),
    [
        ("atom.global.add.u32 %r1, [%q1], 3;", 10, lambda i: 10 + 3 * i),
        ("atom.global.exch.b32 %r1, [%q1], %r0;", 9, lambda i: 9 if i == 0 else i - 1),
        ("atom.global.max.s32 %r1, [%q1], %r0;", -5, lambda i: -5 if i == 0 else i - 1),
        ("atom.global.min.s32 %r1, [%q1], -3;", 2, lambda i: 2 if i == 0 else -3),
        ("atom.global.and.b32 %r1, [%q1], 6;", 15, lambda i: 15 if i == 0 else 6),
        ("atom.global.or.b32 %r1, [%q1], 16;", 1, lambda i: 1 if i == 0 else 17),
        ("atom.global.xor.b32 %r1, [%q1], 1;", 4, lambda i: 4 + i % 2),
        ("atom.global.inc.u32 %r1, [%q1], 4;", 0, lambda i: i % 5),
        ("atom.global.dec.u32 %r1, [%q1], 4;", 0, lambda i: (5 - i) % 5),
        ("atom.global.cas.b32 %r1, [%q1], 7, 8;", 7, lambda i: 7 if i == 0 else 8),
    ],
)
def test_atomics_give_the_value_found_in_lane_order(instruction, start, expected):
    x, out = np.array([start], np.int32), np.zeros(32, np.int32)
    outcome = per_thread(f"{instruction} st.global.b32 [%q4], %r1;", x, out)
    assert out.tolist() == [expected(i) for i in range(32)]
    assert outcome.counters["global_atomics"] == 1 and not outcome.kinds


def test_floating_atomics_of_every_width():
    for kind, dtype in (("f32", np.float32), ("f64", np.float64)):
        x, out = np.array([0.5], dtype), np.zeros(32, dtype)
        register, one = ("%f1", "0f3F800000") if kind == "f32" else ("%d1", "0d3FF0000000000000")
        outcome = per_thread(
            f"atom.global.add.{kind} {register}, [%q1], {one}; st.global.{kind} [%q4], {register};", x, out
        )
        assert out.tolist() == [0.5 + i for i in range(32)]
        assert [h.kind for h in outcome.hazards] == ["nonassociative_atomics"]


def test_atomics_of_packed_halves():
    x, out = np.array([0, 0], np.float16), np.zeros(32, np.float16)
    pair = int(np.array([1.5, -2.0], np.float16).view(np.uint32)[0])
    outcome = per_thread(f"red.global.add.noftz.f16x2 [%q1], {pair};", x, out)
    assert x.tolist() == [48.0, -64.0]
    assert "nonassociative_atomics" in [h.kind for h in outcome.hazards]
    brain = np.array([0x3F80], np.uint16)  # 1.0
    per_thread("mov.b16 %h1, 0x4000; red.global.add.noftz.bf16 [%q1], %h1;", brain, out)  # 2.0, 32 times
    assert brain[0] == 0x4282  # 65.0


def test_shared_atomics_and_64_bits():
    x, out = np.zeros(1, np.uint64), np.zeros(32, np.uint32)
    declare = ".shared .align 8 .b8 s[8];"
    body = """
        setp.eq.s32 %p1, %r0, 0; @%p1 st.shared.b64 [s], 0; bar.sync 0;
        atom.shared.add.u64 %q5, [s], 4294967296; bar.sync 0;
        ld.shared.b64 %q6, [s]; @%p1 st.global.b64 [%q1], %q6;
    """
    outcome = per_thread(body, x, out, declare=declare)
    assert int(x[0]) == 32 << 32
    assert outcome.counters["shared_atomics"] == 1 and not outcome.kinds


def test_an_unused_result_makes_no_difference_but_the_sum():
    x, out = np.zeros(1, np.int32), np.zeros(32, np.int32)
    per_thread("red.global.add.u32 [%q1], 2;", x, out)
    assert x[0] == 64


@pytest.mark.parametrize(
    ("instruction", "sectors"),
    [
        ("red.global.add.u32 [%q1], 1;", 1),  # the warp reduces first
        ("red.global.max.s32 [%q1], %r0;", 1),
        ("red.global.add.u64 [%q1], 1;", 1),  # one lane adds 32
        ("red.global.add.u64 [%q1], %q0;", 32),  # one pass a lane
        ("red.global.add.f32 [%q1], 0f3F800000;", 32),
        ("red.global.inc.u32 [%q1], 7;", 32),
        ("atom.global.add.u32 %r1, [%q1], 1; st.global.b32 [%q4], %r1;", 1),
        ("atom.global.max.s32 %r1, [%q1], %r0; st.global.b32 [%q4], %r1;", 32),  # the old value is wanted
        ("mad.lo.s64 %q5, %q0, 4, %q1; red.global.add.u32 [%q5], 1;", 4),  # an element each
        ("shr.u64 %q5, %q0, 1; mad.lo.s64 %q5, %q5, 4, %q1; red.global.add.u32 [%q5], 1;", 4),  # two passes of 2
        ("and.b64 %q5, %q0, 1; mad.lo.s64 %q5, %q5, 64, %q1; red.global.add.u32 [%q5], 1;", 32),  # 16 passes of 2
    ],
)
def test_sectors_of_atomics_count_a_pass_for_each_lane_of_an_address(instruction, sectors):
    outcome = per_thread(instruction, np.zeros(32, np.int64), np.zeros(32, np.int32), hazards=False)
    assert (outcome.counters["global_atomics"], outcome.counters["global_atomic_sectors"]) == (1, sectors)


def test_unsigned_wrapping_of_a_signed_sum_is_no_overflow():
    # NVRTC writes atomicSub(&x, 1) as the addition of 4294967295.
    x, out = np.full(1, 100, np.int32), np.zeros(32, np.int32)
    assert not per_thread("red.global.add.u32 [%q1], -1;", x, out).kinds
    assert x[0] == 68


def test_asynchronous_copies_are_made_at_once():
    x, out = np.arange(4 * N, dtype=np.int32), np.zeros(N, np.int32)
    declare = ".shared .align 16 .b8 tile[1024];"
    body = """
        mov.u32 %r2, tile; mad.lo.s32 %r2, %r0, 16, %r2; mad.lo.s64 %q5, %q0, 16, %q1;
        cp.async.cg.shared.global [%r2], [%q5], 16; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;
        mov.u32 %r3, tile; sub.s32 %r4, 63, %r0; mad.lo.s32 %r3, %r4, 16, %r3; ld.shared.b32 %r5, [%r3+4];
        st.global.b32 [%q4], %r5;
    """
    outcome = per_thread(body, x, out, declare=declare)
    assert out.tolist() == [4 * (63 - i) + 1 for i in range(N)]
    assert not outcome.hazards
    assert outcome.counters["global_load_requests"] == 2 and outcome.counters["global_load_sectors"] == 32
    assert outcome.counters["shared_store_requests"] == 0  # the bytes go to shared memory by themselves


def test_asynchronous_copies_fill_up_with_zeros():
    x, out = np.arange(1, 2 * N + 1, dtype=np.int32), np.zeros(N, np.int32)
    declare = ".shared .align 16 .b8 tile[512];"
    body = """
        mov.u32 %r2, tile; mad.lo.s32 %r2, %r0, 8, %r2; mad.lo.s64 %q5, %q0, 8, %q1;
        and.b32 %r6, %r0, 1; shl.b32 %r6, %r6, 3;
        cp.async.ca.shared.global [%r2], [%q5], 8, %r6; cp.async.wait_all; bar.sync 0;
        ld.shared.b32 %r5, [%r2+4]; st.global.b32 [%q4], %r5;
    """
    assert not per_thread(body, x, out, declare=declare).hazards
    assert out.tolist() == [2 * i + 2 if i % 2 else 0 for i in range(N)]


# --- hazards -------------------------------------------------------------------------------------------------------


def test_an_access_past_the_end_names_the_array_and_the_element():
    x, out = np.arange(40, dtype=np.int32), np.zeros(N, np.int32)
    outcome = per_thread("ld.global.b32 %r1, [%q3]; st.global.b32 [%q4], %r1;", x, out)
    assert outcome.kinds == ["oob_global_read"]
    assert "element 40 of x" in outcome.hazards[0].message and outcome.hazards[0].count == 24
    assert out.tolist() == [*range(40), *[0] * 24]


def test_an_access_that_lands_in_another_array_is_out_of_bounds_too():
    x, out = np.zeros(64, np.int32), np.zeros(64, np.int32)
    outcome = per_thread("st.global.b32 [%q3+512], %r0;", x, out)
    assert outcome.kinds == ["oob_global_write"] and "x" in outcome.hazards[0].message
    assert not x.any() and not out.any()


def test_a_wide_access_must_be_aligned_to_its_width():
    x, out = np.arange(80, dtype=np.int32), np.zeros(8, np.int32)
    body = "mad.lo.s64 %q5, %q0, 16, %q1; ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%q5+4]; st.global.b32 [%q4], %r1;"
    outcome = per_thread(body, x, out)
    assert outcome.kinds == ["misaligned_access"]
    assert "x" in outcome.hazards[0].message and "16" in outcome.hazards[0].message
    assert not out.any()


def test_a_wide_store_and_narrow_loads_share_bytes():
    x, out = np.zeros(1, np.int32), np.zeros(N, np.int32)
    declare = ".shared .align 16 .b8 s[256];"
    wide = "mov.u32 %r2, s; setp.lt.s32 %p1, %r0, 16; mad.lo.s32 %r3, %r0, 16, %r2;"
    fill = "@%p1 st.shared.v4.b32 [%r3], {%r0, %r0, %r0, %r0};"
    read = "add.s32 %r4, %r2, %r0; ld.shared.u8 %r5, [%r4+64]; st.global.b32 [%q4], %r5;"
    assert not per_thread(f"{wide} {fill} bar.sync 0; {read}", x, out, declare=declare).kinds
    assert out.tolist() == [(i // 16 + 4) if i % 4 == 0 else 0 for i in range(N)]
    assert per_thread(f"{wide} {fill} {read}", x, out, declare=declare).kinds == ["race_shared"]


def test_bytes_nobody_wrote_are_found_one_by_one():
    x, out = np.zeros(1, np.int32), np.zeros(N, np.int32)
    declare = ".shared .align 4 .b8 s[256];"
    body = """
        mov.u32 %r2, s; mad.lo.s32 %r2, %r0, 4, %r2;
        st.shared.b16 [%r2], %h1; ld.shared.b32 %r3, [%r2]; st.global.b32 [%q4], %r3;
    """
    assert per_thread(f"mov.b16 %h1, 5; {body}", x, out, declare=declare).kinds == ["uninit_shared_read"]
    whole = body.replace("ld.shared.b32", "st.shared.b16 [%r2+2], %h1; ld.shared.b32")
    assert not per_thread(f"mov.b16 %h1, 5; {whole}", x, out, declare=declare).kinds


def test_an_acquire_load_does_not_race_with_a_release_store():
    text = """
        ld.param.u64 %q1, [a0]; ld.param.u64 %q2, [a1]; mov.u32 %r0, %ctaid.x; setp.eq.s32 %p1, %r0, 0;
        @!%p1 bra WAIT;
        st.global.b32 [%q2], 42; st.release.gpu.global.b32 [%q1], 1; bra DONE;
        WAIT: LOOP: ld.acquire.gpu.global.b32 %r1, [%q1]; setp.eq.s32 %p2, %r1, 0; @%p2 bra LOOP;
        ld.global.b32 %r2, [%q2]; st.global.b32 [%q2+4], %r2;
        DONE:
    """
    flag, data = np.zeros(1, np.int32), np.zeros(2, np.int32)
    outcome = launch(kernel(text, "u64", "u64"), 1, flag, data, blocks=2)
    assert data.tolist() == [42, 42] and not outcome.kinds
    plain = text.replace("st.release.gpu.global", "st.global").replace("ld.acquire.gpu.global", "ld.global")
    outcome = launch(kernel(plain, "u64", "u64"), 1, flag * 0, data * 0, blocks=2)
    assert "race_global_interblock" in outcome.kinds


def test_the_read_of_a_compare_and_swap_loop_is_no_race():
    # double's atomicAdd of the programming guide, for floats
    text = """
        ld.param.u64 %q1, [a0]; cvta.to.global.u64 %q2, %q1; ld.global.b32 %r1, [%q2];
        AGAIN: mov.b32 %r2, %r1; mov.b32 %f1, %r2; add.f32 %f1, %f1, 0f3F800000; mov.b32 %r3, %f1;
        atom.global.cas.b32 %r1, [%q2], %r2, %r3; setp.ne.s32 %p1, %r1, %r2; @%p1 bra AGAIN;
    """
    x = np.zeros(1, np.float32)
    outcome = launch(kernel(text, "u64", names=["x"]), 64, x, blocks=3)
    assert x[0] == 192 and not outcome.kinds
    elsewhere = text.replace("ld.global.b32 %r1, [%q2];", "ld.global.b32 %r1, [%q2]; st.global.b32 [%q2], %r1;")
    assert "race_global" in launch(kernel(elsewhere, "u64", names=["x"]), 64, x, blocks=3).kinds
    unrelated = text.replace("mov.b32 %r2, %r1;", "add.s32 %r2, %r1, 0;", 1)
    assert "race_global" in launch(kernel(unrelated, "u64", names=["x"]), 64, x * 0, blocks=3).kinds


# --- bad arguments and refusals ------------------------------------------------------------------------------------


def test_arguments_that_do_not_fit_are_named():
    made = kernel("ld.param.u64 %q1, [a0];", "u64", "u32", names=["x", "n"])
    x = np.zeros(4, np.float32)
    with pytest.raises(LaunchError, match=r"k\(x, n\)` takes 2 argument\(s\), 1 were given"):
        launch(made, 1, x)
    with pytest.raises(LaunchError, match=r"`n` has 8 bytes \(int64\), the kernel's parameter has 4"):
        launch(made, 1, x, np.int64(4))
    with pytest.raises(LaunchError, match="`n` is an array"):
        launch(made, 1, x, x)


def test_a_null_pointer_is_out_of_bounds():
    made = kernel("ld.param.u64 %q1, [a0]; ld.global.b32 %r1, [%q1]; st.global.b32 [%q1], %r1;", "u64", names=["x"])
    assert launch(made, 1, None).kinds == ["oob_global_read", "oob_global_write"]


@pytest.mark.parametrize("text", ["ld.global.b128 %q5, [%q3];", "atom.global.exch.b128 %q5, [%q3], %q5;"])
def test_128_bit_values_are_refused(text):
    with pytest.raises(UnsupportedFeature, match="b128"):
        per_thread(text, np.zeros(8, np.int64), np.zeros(8, np.int64))
