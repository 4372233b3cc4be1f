#!/usr/bin/env python3
"""Chooses the counters this machine's Nsight Compute offers.

    ncu --query-metrics > names.txt
    python3 metrics.py names.txt     # one comma-separated list; what is missing on stderr
"""

import sys

WANTED = """
gpu__time_duration.sum
sm__cycles_elapsed.max sm__cycles_active.avg sm__cycles_active.max sm__cycles_active.min
sm__cycles_elapsed.avg.per_second dram__cycles_elapsed.avg.per_second
lts__cycles_elapsed.avg.per_second
sm__warps_active.avg.per_cycle_active
sm__inst_executed.sum sm__inst_executed.max
sm__inst_executed_pipe_tensor.sum sm__inst_executed_pipe_tensor.max
sm__inst_executed_pipe_tensor_op_gmma.sum sm__inst_executed_pipe_tensor_op_gmma.max
sm__inst_executed_pipe_tensor_op_hmma.sum sm__inst_executed_pipe_tensor_op_hmma.max
sm__pipe_tensor_cycles_active.sum sm__pipe_tensor_cycles_active.max
sm__pipe_tensor_op_hmma_type_hmma_hgmma_qgmma_cycles_active.sum
sm__pipe_tensor_op_hmma_type_hmma_hgmma_qgmma_cycles_active.max
sm__ops_path_tensor_src_bf16_dst_fp32.max sm__ops_path_tensor_src_bf16_dst_fp32.min
sm__pipe_tensor_op_hmma_cycles_active.sum sm__pipe_tensor_op_hmma_cycles_active.max
sm__inst_executed_pipe_xu.sum sm__inst_executed_pipe_xu.max
sm__inst_executed_pipe_fma.sum sm__inst_executed_pipe_fma.max
sm__inst_executed_pipe_alu.sum sm__inst_executed_pipe_alu.max
sm__inst_executed_pipe_lsu.sum sm__inst_executed_pipe_lsu.max
sm__inst_executed_pipe_uniform.sum sm__inst_executed_pipe_tma.sum
smsp__sass_thread_inst_executed_op_ffma_pred_on.sum
smsp__sass_thread_inst_executed_op_fadd_pred_on.sum
smsp__sass_thread_inst_executed_op_fmul_pred_on.sum
smsp__sass_thread_inst_executed_op_hfma_pred_on.sum
smsp__sass_thread_inst_executed_op_hadd_pred_on.sum
smsp__sass_thread_inst_executed_op_hmul_pred_on.sum
lts__t_bytes.sum lts__t_sectors.sum
lts__t_sectors_op_read.sum lts__t_sectors_op_write.sum lts__t_sectors_op_red.sum
lts__t_sectors_op_atom.sum
lts__t_sectors_srcunit_tex.sum lts__t_sectors_srcunit_tex_op_read.sum
lts__t_sectors_srcunit_tex_op_write.sum
lts__t_sectors_srcunit_tex_lookup_hit.sum lts__t_sectors_srcunit_tex_lookup_miss.sum
lts__t_sectors_lookup_hit.sum lts__t_sectors_lookup_miss.sum
lts__t_sectors_srcunit_ltcfabric.sum lts__t_sectors_srcnode_gpc.sum
dram__bytes_read.sum dram__bytes_write.sum
l1tex__t_bytes.sum l1tex__t_sectors_lookup_hit.sum
l1tex__m_xbar2l1tex_read_bytes.sum l1tex__m_l1tex2xbar_write_bytes.sum
l1tex__data_pipe_lsu_wavefronts.sum l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared.max
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum
""".split()

TENSOR_OPS = "sm__ops_path_tensor_src_"
TENSOR_TYPES = ("bf16_dst_fp32", "fp16", "tf32_dst_fp32", "fp8", "fp64", "int8")


def offered(path):
    with open(path) as file:
        return {line.split()[0] for line in file if line.split() and "__" in line.split()[0]}


def choose(names):
    chosen, missing = [], []
    for metric in WANTED:
        (chosen if metric.split(".")[0] in names else missing).append(metric)
    return chosen + _tensor_ops(names, missing), missing


def _tensor_ops(names, missing):
    """Tensor operations by input type; newer tools split dense from sparse."""
    found = []
    for kind in TENSOR_TYPES:
        for name in (TENSOR_OPS + kind, TENSOR_OPS + kind + "_sparsity_off"):
            if name in names:
                found.append(name + ".sum")
                break
        else:
            missing.append(TENSOR_OPS + kind)
    return found


def main():
    names = offered(sys.argv[1])
    if len(names) < 50:
        print("no usable list of metrics; asking for all", file=sys.stderr)
        chosen, missing = WANTED + [TENSOR_OPS + "bf16_dst_fp32.sum"], []
    else:
        chosen, missing = choose(names)
    print("missing:", *missing, file=sys.stderr)
    related = sorted(n for n in names if "tensor" in n or "gmma" in n)
    print("tensor metrics offered:", *related, file=sys.stderr)
    print(",".join(chosen))


if __name__ == "__main__":
    main()
