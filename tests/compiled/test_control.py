"""Branches, guards, tables, calls, recursion, printf, assert and trap of PTX."""

from __future__ import annotations

import numpy as np
import pytest
from compiled.snippet import module_text, run

from gpukit.errors import GpukitError, KernelAssertion, LaunchError, UnsupportedFeature
from gpukit.machine import executor
from gpukit.machine.frontends import ptx
from gpukit.machine.memory import GlobalMemory

N = np.arange(64, dtype=np.int32)


def one(body: str, declare: str = "", top: str = "", x: np.ndarray = N) -> list[int]:
    """%d of a body for %a = x."""
    return run(body, {"%a": ("s32", x)}, {"%d": "s32"}, declare, top)["%d"].tolist()


def outcome(body: str, declare: str = "", top: str = "", hazards: bool = False):
    """(values of %d, Run) for %a = 0, 1, 2 ... 63."""
    text = module_text(body, {"%a": "s32"}, {"%d": "s32"}, declare, top)
    out = np.zeros(64, np.int32)
    launch = ptx.load(text).kernel("snippet").bind((1, 1, 1), (64, 1, 1), [N.copy(), out], 0, GlobalMemory())
    result = executor.run(launch, hazards=hazards)
    return out.tolist(), result


def test_a_guard_keeps_the_old_value():
    declare = ".reg .pred %p;"
    body = "setp.lt.s32 %p, %a, 10; mov.b32 %d, 7; @%p add.s32 %d, %a, 100; @!%p add.s32 %d, %d, 1;"
    assert one(body, declare) == [v + 100 if v < 10 else 8 for v in N.tolist()]


def test_a_guarded_load_only_runs_where_the_guard_is_true():
    # Lanes 40 and up would read outside the array.
    body = """
        setp.lt.s32 %p, %a, 40; mov.b32 %d, -1;
        ld.param.u64 %q, [p0]; mul.wide.s32 %o, %a, 4; selp.b64 %o, %o, 4000, %p; add.s64 %q, %q, %o;
        @%p ld.global.b32 %d, [%q];
    """
    values = run(body, {"%a": ("s32", N)}, {"%d": "s32"}, ".reg .pred %p; .reg .b64 %q, %o;", hazards=True)["%d"]
    assert values.tolist() == [v if v < 40 else -1 for v in N.tolist()]


def test_a_loop_runs_as_often_as_each_lane_says():
    body = """
        mov.b32 %d, 0; mov.b32 %i, 0;
        LOOP: setp.ge.s32 %p, %i, %a; @%p bra DONE;
        add.s32 %d, %d, %i; add.s32 %i, %i, 1; bra LOOP;
        DONE:
    """
    assert one(body, ".reg .pred %p; .reg .b32 %i;") == [v * (v - 1) // 2 for v in N.tolist()]


def test_backward_branches_and_early_exits():
    body = """
        mov.b32 %d, 0;
        AGAIN: add.s32 %d, %d, 3; setp.eq.s32 %q, %d, 30; @%q bra OUT;
        setp.lt.s32 %p, %d, %a; @%p bra AGAIN;
        OUT:
    """
    expected = []
    for v in N.tolist():
        d = 0
        while True:
            d += 3
            if d == 30 or d >= v:
                break
        expected.append(d)
    assert one(body, ".reg .pred %p, %q;") == expected


def test_a_jump_table():
    body = """
        rem.s32 %i, %a, 5;
        table: .branchtargets L0, L1, L2, L3;
        setp.gt.s32 %p, %i, 3; @%p bra OTHER;
        brx.idx %i, table;
        L0: mov.b32 %d, 10; bra DONE;
        L1: mov.b32 %d, 21; bra DONE;
        L2: mov.b32 %d, 32;
        L3: add.s32 %d, %a, 43; bra DONE;
        OTHER: mov.b32 %d, -1;
        DONE:
    """
    expected = [[10, 21, v + 43, v + 43, -1][v % 5] for v in N.tolist()]
    assert one(body, ".reg .pred %p; .reg .b32 %i;") == expected


def test_a_device_function_is_put_in_place_each_time():
    top = """
        .func (.param .b32 r) twice(.param .b32 x)
        { .reg .b32 %v; .reg .pred %p;
          ld.param.b32 %v, [x]; setp.gt.s32 %p, %v, 9; @%p bra BIG;
          add.s32 %v, %v, %v; st.param.b32 [r], %v; ret;
          BIG: mov.b32 %v, 1; st.param.b32 [r], %v; ret; }
    """
    call = """{ .param .b32 x; .param .b32 r; st.param.b32 [x], %d; call.uni (r), twice, (x); ld.param.b32 %d, [r]; }"""
    body = f"mov.b32 %d, %a; {call} {call}"

    def twice(v: int) -> int:
        return 1 if v > 9 else 2 * v

    assert one(body, "", top) == [twice(twice(v)) for v in N.tolist()]


def test_parameters_of_a_call_may_be_read_in_other_pieces_than_they_were_stored():
    top = """
        .func (.param .b64 r) join(.param .align 8 .b8 s[8])
        { .reg .b32 %lo; .reg .b16 %h; .reg .b64 %w, %x;
          ld.param.b32 %lo, [s+4]; ld.param.u16 %h, [s+2]; cvt.u64.u16 %x, %h; cvt.u64.u32 %w, %lo;
          shl.b64 %w, %w, 32; or.b64 %w, %w, %x; st.param.b64 [r], %w; ret; }
    """
    body = """{ .param .align 8 .b8 s[8]; .param .b64 r; .reg .b64 %q; .reg .b32 %e;
        shl.b32 %e, %a, 16; st.param.v2.b32 [s], {%e, 5}; call (r), join, (s); ld.param.b64 %q, [r];
        cvt.u32.u64 %d, %q; shr.u64 %q, %q, 32; cvt.u32.u64 %e, %q; mad.lo.s32 %d, %e, 1000, %d; }"""
    assert one(body, "", top) == [v + 5000 for v in N.tolist()]


RECURSIVE = """
    .func (.param .b32 r) fib(.param .b32 x)
    { .reg .b32 %n, %m, %s, %t; .reg .pred %p;
      .local .align 4 .b8 depot[16]; .reg .b64 %at; .reg .b32 %was;
      ld.param.b32 %n, [x]; mov.u64 %at, depot; st.local.u32 [%at+4], %n;
      setp.lt.s32 %p, %n, 2; mov.b32 %s, %n; @%p bra END;
      sub.s32 %m, %n, 1;
      { .param .b32 a; .param .b32 b; st.param.b32 [a], %m; call (b), fib, (a); ld.param.b32 %s, [b]; }
      sub.s32 %m, %n, 2;
      { .param .b32 a; .param .b32 b; st.param.b32 [a], %m; call (b), fib, (a); ld.param.b32 %t, [b]; }
      add.s32 %s, %s, %t;
      END: ld.local.u32 %was, [%at+4]; sub.s32 %was, %was, %n; add.s32 %s, %s, %was;
      st.param.b32 [r], %s; ret; }
"""


def test_a_recursive_function_has_registers_and_local_memory_of_its_own_at_every_level():
    body = """{ .param .b32 a; .param .b32 b; rem.s32 %d, %a, 10; st.param.b32 [a], %d;
        call (b), fib, (a); ld.param.b32 %d, [b]; }"""
    fib = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
    values, run_ = outcome(body, "", RECURSIVE, hazards=True)
    assert values == [fib[v % 10] for v in N.tolist()]
    assert not run_.hazards


def test_a_call_through_a_pointer():
    top = """
        .func (.param .b32 r) plus(.param .b32 x)
        { .reg .b32 %v; ld.param.b32 %v, [x]; add.s32 %v, %v, 100; st.param.b32 [r], %v; ret; }
        .func (.param .b32 r) minus(.param .b32 x)
        { .reg .b32 %v; ld.param.b32 %v, [x]; neg.s32 %v, %v; st.param.b32 [r], %v; ret; }
        .global .align 8 .u64 functions[2] = {plus, minus};
    """
    body = """{ .param .b32 a; .param .b32 b; .reg .b64 %f, %o; .reg .b32 %i;
        proto: .callprototype (.param .b32 _) _ (.param .b32 _);
        and.b32 %i, %a, 1; mul.wide.u32 %o, %i, 8; mov.u64 %f, functions; add.s64 %f, %f, %o; ld.global.u64 %f, [%f];
        st.param.b32 [a], %a; call (b), %f, (a), proto; ld.param.b32 %d, [b]; }"""
    assert one(body, "", top) == [-v if v % 2 else v + 100 for v in N.tolist()]


def test_a_call_through_a_pointer_to_nothing_stops_the_launch():
    body = """{ .param .b32 a; .reg .b64 %f;
        proto: .callprototype _ (.param .b32 _); mov.u64 %f, 12345; st.param.b32 [a], %a; call %f, (a), proto; }"""
    with pytest.raises(KernelAssertion, match="points to no function"):
        one(body)


def printf(text: str, stores: str) -> str:
    data = ", ".join(str(b) for b in text.encode() + b"\0")
    top = f"""
        .extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
        .global .align 1 .b8 $str[{len(text.encode()) + 1}] = {{{data}}};
        .global .align 1 .b8 $word[4] = {{97, 98, 99, 0}};
    """
    body = f"""
        .local .align 8 .b8 depot[32]; .reg .b64 %at, %f, %w; .reg .pred %p;
        setp.gt.s32 %p, %a, 1; @%p bra DONE;
        mov.u64 %at, depot; cvta.local.u64 %at, %at; cvta.to.local.u64 %w, %at;
        {stores}
        mov.u64 %f, $str; cvta.global.u64 %f, %f;
        {{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %f; st.param.b64 [a], %at;
          call.uni (r), vprintf, (f, a); ld.param.b32 %d, [r]; }}
        DONE:
    """
    text = module_text("{" + body + "}", {"%a": "s32"}, {"%d": "s32"}, "", top)
    out = np.zeros(64, np.int32)
    launch = ptx.load(text).kernel("snippet").bind((1, 1, 1), (64, 1, 1), [N.copy(), out], 0, GlobalMemory())
    return "".join(executor.run(launch, hazards=False).output)


def test_printf_converts_as_c_does():
    stores = """
        st.local.u32 [%w], %a; st.local.f64 [%w+8], 0d3FF8000000000000; st.local.u64 [%w+16], 1234567890123;
        { .reg .b64 %s; mov.u64 %s, $word; cvta.global.u64 %s, %s; st.local.u64 [%w+24], %s; }
    """
    assert printf("%d %5.2f %lld 100%% %s\n", stores) == "".join(f"{i}  1.50 1234567890123 100% abc\n" for i in (0, 1))


def test_printf_of_unsigned_hex_and_characters():
    stores = "st.local.u32 [%w], -1; st.local.u32 [%w+4], 255; st.local.u32 [%w+8], 65;"
    assert printf("%u %#x %c|%% done\n", stores).startswith("4294967295 0xff A|% done\n")


def test_an_assertion_names_the_lane_and_what_was_asserted():
    text = "a < 40"
    data = ", ".join(str(b) for b in text.encode() + b"\0")
    top = f"""
        .extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
        .global .align 1 .b8 $message[{len(text) + 1}] = {{{data}}};
    """
    body = """{ .reg .pred %p; .reg .b64 %m; setp.lt.s32 %p, %a, 40; @%p bra FINE;
        mov.u64 %m, $message; cvta.global.u64 %m, %m;
        .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s;
        st.param.b64 [m], %m; st.param.b64 [f], 0; st.param.b32 [l], 1; st.param.b64 [n], 0; st.param.b64 [s], 1;
        call.uni __assertfail, (m, f, l, n, s); FINE: mov.b32 %d, 1; }"""
    with pytest.raises(KernelAssertion, match=r"a < 40.*24 thread\(s\).*thread \(40, 0, 0\)"):
        one(body, "", top)


def test_trap_stops_the_launch():
    with pytest.raises(KernelAssertion, match="trap"):
        one("{ .reg .pred %p; setp.eq.s32 %p, %a, 3; @%p trap; }")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("wgmma.fence.sync.aligned;", r"wgmma.fence.sync.aligned.*tensor cores"),
        ("mbarrier.init.shared.b64 [%tid], 1;", "mbarrier.init.shared.b64.*asynchronous"),
        ("cp.async.bulk.commit_group;", "cp.async.bulk.commit_group"),
        ("barrier.cluster.arrive;", "thread block clusters"),
        ("frobnicate.b32 %d, %a;", "frobnicate.b32"),
        ("mov.u32 %d, %nothing_like_it;", "special register %nothing_like_it"),
    ],
)
def test_what_the_machine_does_not_have_is_refused_with_its_line(text, why):
    with pytest.raises(UnsupportedFeature, match=why) as caught:
        one(text)
    assert caught.value.line is not None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{ .param .b64 a; st.param.b64 [a], 1; call unheard, (a); }", "calls `unheard`, which is not declared"),
        ("call absent;", "calls `absent`, which is declared but not defined"),
        ("bra nowhere;", "there is no label `nowhere`"),
        ("mov.b32 %d, %nothing;", "special register %nothing"),
        ("ld.global.b32 %d, [outside];", "`outside` is declared, but not defined"),
        ("ld.global.b32 %d, [unheard_of];", "`unheard_of` is not declared"),
        ("add.s32 %d, %a;", "`add.s32` needs 3 operands, 2 are given"),
        ("mov %d, %a;", "`mov` needs a type, such as mov.u32"),
        ("bra;", "`bra` needs 1 operand, 0 are given"),
        ("bra 4;", "`bra` needs a label"),
        ("st.param.b32 [%d], %a;", "`st.param.b32` needs the name of a parameter"),
        ("{ .param .b32 x; call one, (x, x); }", "`one` takes 1 arguments and gives 0 results; this call has 2 and 0"),
    ],
)
def test_wrong_ptx_is_said_to_be_wrong(text, why):
    top = ".extern .func absent; .extern .global .align 4 .u32 outside; .func one(.param .b32 x) { ret; }"
    with pytest.raises(GpukitError, match=why) as caught:
        one(text, top=top)
    assert caught.value.line is not None


def test_static_shared_memory_has_a_limit():
    body = "mov.u32 %d, tile; st.shared.b32 [tile], %a;"
    declare = ".shared .align 4 .b8 tile[{}];"
    assert one(body, declare.format(49152), x=N[:1]) == [0]
    with pytest.raises(LaunchError, match="49,153 bytes of shared memory"):
        one(body, declare.format(49153), x=N[:1])


def test_special_registers():
    declare = ".reg .b32 %x;"
    body = """
        mov.u32 %d, %laneid; mov.u32 %x, %warpid; mad.lo.s32 %d, %x, 1000, %d; mov.u32 %x, %ntid.x;
        add.s32 %d, %d, %x;
    """
    assert one(body, declare) == [v % 32 + 1000 * (v // 32) + 64 for v in N.tolist()]
    for name, of in {
        "le": lambda lane: (2 << lane) - 1,
        "lt": lambda lane: (1 << lane) - 1,
        "ge": lambda lane: 0xFFFFFFFF & ~((1 << lane) - 1),
        "gt": lambda lane: 0xFFFFFFFF & ~((2 << lane) - 1),
        "eq": lambda lane: 1 << lane,
    }.items():
        masks = run(f"mov.u32 %d, %lanemask_{name};", {"%a": ("s32", N)}, {"%d": "u32"})["%d"].tolist()
        assert masks == [of(v % 32) for v in N.tolist()], name
    clocks = run("mov.u64 %d, %clock64;", {"%a": ("s32", N)}, {"%d": "u64"})["%d"]
    assert (clocks > 0).all()


def test_mov_packs_and_unpacks_and_may_name_its_own_source():
    assert one("{ .reg .b16 %l, %h; mov.b32 {%l, %h}, %a; mov.b32 %d, {%h, %l}; }", x=N * 65537 + 3) == [
        int(np.int32(((v & 0xFFFF) << 16 | (v >> 16) & 0xFFFF) & 0xFFFFFFFF)) for v in (N * 65537 + 3).tolist()
    ]
    wide = np.array([0x0123456789ABCDEF, 5 << 32], np.uint64)
    swapped = run(
        "{ .reg .b32 %l, %h; mov.b64 {%l, %h}, %a; mov.b64 %d, {%h, %l}; }", {"%a": ("u64", wide)}, {"%d": "u64"}
    )
    assert swapped["%d"].tolist() == [0x89ABCDEF01234567, 5]


def test_isspacep_tells_the_windows_apart():
    declare = ".shared .align 4 .b8 s[16]; .local .align 4 .b8 l[16]; .reg .b64 %q; .reg .pred %g, %s, %t;"
    for source, expected in {
        "mov.u64 %q, s; cvta.shared.u64 %q, %q;": 2,
        "mov.u64 %q, l; cvta.local.u64 %q, %q;": 4,
        "ld.param.u64 %q, [p0];": 1,
    }.items():
        body = f"""{source} isspacep.global %g, %q; isspacep.shared %s, %q; isspacep.local %t, %q;
            selp.b32 %d, 1, 0, %g; @%s add.s32 %d, %d, 2; @%t add.s32 %d, %d, 4;"""
        assert set(one(body, declare)) == {expected}
