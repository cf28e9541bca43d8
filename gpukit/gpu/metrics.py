"""The counters of Nsight Compute that gpukit counts too: gpukit's name -> the metric of PerfWorks.

This is the one table. data/probes/numba_kernels.py and data/probes/compiled_kernels.py keep copies of their own, since
they must run on a machine that has nothing but that file.
"""

from __future__ import annotations

from collections.abc import Mapping

METRICS = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "global_reduction_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "global_reduction_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "global_atomic_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "global_atomic_op_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "shared_load_requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_store_requests": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_load_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "warp_instructions": "smsp__inst_executed.sum",
    "thread_instructions": "smsp__thread_inst_executed.sum",
}
# Not on every GPU: asked for besides, and done without where Nsight Compute does not know them.
MORE_METRICS = {
    "local_load_requests": "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
    "local_store_requests": "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
}
TIME = "gpu__time_duration.sum"  # of the launch; in nanoseconds, with --print-units base

# The CPU machine does not split atomics by whether the old value is used; PerfWorks does: `red` and `atom`.
_SUMS = {
    "global_atomics": ("global_reduction_requests", "global_atomic_requests"),
    "global_atomic_sectors": ("global_reduction_sectors", "global_atomic_op_sectors"),
}
# Counters that both have, in the order in which they are shown.
COMPARED = (
    *("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors"),
    *("global_atomics", "global_atomic_sectors"),
    *("shared_load_requests", "shared_load_wavefronts", "shared_load_bank_conflicts"),
    *("shared_store_requests", "shared_store_wavefronts", "shared_store_bank_conflicts"),
    *("local_load_requests", "local_store_requests"),
    *("warp_instructions", "thread_instructions"),
)


def in_our_names(metrics: Mapping[str, float]) -> dict[str, int]:
    """Readings by metric -> by the names of `COMPARED`; those that were not read are left out."""
    names = {metric: name for name, metric in (METRICS | MORE_METRICS).items()}
    found = {names[metric]: round(value) for metric, value in metrics.items() if metric in names}
    for name, parts in _SUMS.items():
        if all(part in found for part in parts):
            found[name] = sum(found[part] for part in parts)
    return {name: found[name] for name in COMPARED if name in found}
