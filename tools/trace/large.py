#!/usr/bin/env python3
"""large.py BYTES > trace.json: a PyTorch profiler trace of any size, to see that `tilecast diagnose` streams it.

Steps of a decoder, as torch.profiler records them with shapes and stacks: operators, launches, kernels and the Python
calls around them, which are most of the text.
"""
import sys

OPS = [
    ("aten::mm", "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_TNT", "[[8, 4096], [4096, 6144]]", 13.0),
    ("aten::mm", "nvjet_sm90_tst_128x8_64x12_2x1_v_bz_TNT", "[[8, 4096], [4096, 28672]]", 57.0),
    ("aten::add", "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, "
     "std::array<char*, 3ul> >(int)", "[[8, 4096], [8, 4096], []]", 1.6),
    ("aten::silu", "void at::native::vectorized_elementwise_kernel<8, at::native::silu_kernel, std::array<char*, 2ul> >(int)",
     "[[8, 14336]]", 1.7),
]
STACK = "; ".join(f"site-packages/transformers/models/llama/modeling_llama.py({line}): forward" for line in range(300, 306))


def main():
    limit, written, call, now = int(float(sys.argv[1])), 0, 0, 0.0
    out = sys.stdout
    written += out.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": [\n')
    while written < limit:
        name, kernel, dims, duration = OPS[call % len(OPS)]
        call += 1
        now += duration + 1.5
        host = now - 40
        written += out.write(
            f'{{"ph": "X", "cat": "python_function", "name": "{STACK}", "pid": 1, "tid": 1, "ts": {host:.3f}, "dur": 9.5, '
            f'"args": {{"Python id": {call}, "Python parent id": {call - 1}, "Ev Idx": {call}}}}},\n'
            f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": {host:.3f}, "dur": 9.0, "args": '
            f'{{"External id": {call}, "Record function id": 0, "Input Dims": {dims}, "Input type": ["c10::BFloat16", '
            f'"c10::BFloat16"], "Ev Idx": {call}}}}},\n'
            f'{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {host + 2:.3f}, '
            f'"dur": 4.0, "args": {{"External id": {call}, "cbid": 211, "correlation": {call}}}}},\n'
            f'{{"ph": "X", "cat": "kernel", "name": "{kernel}", "pid": 0, "tid": 7, "ts": {now:.3f}, "dur": {duration}, '
            f'"args": {{"External id": {call}, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {call}, '
            f'"registers per thread": 168, "shared memory": 0, "grid": [2, 64, 1], "block": [384, 1, 1]}}}},\n')
    out.write('{"ph": "M", "name": "process_name", "pid": 0}\n]}\n')


main()
