"""Builds attention calls through PyTorch's scaled_dot_product_attention, one backend allowed.

Tensors lie as [batch, length, heads, head_dim], as the projections of a model write them.
"""

import torch
import torch.nn.functional as F

from .data import DTYPES


def attention(case, data):
    _allow_only(case.kernel_source)
    dtype, head_dim = DTYPES[case.dtype], case["head-dim"]
    batch, q_len, kv_len = case["batch"], case["q-len"], case["kv-len"]
    q = _heads_first(data.normal((batch, q_len, case["heads"], head_dim), dtype))
    k = _heads_first(data.normal((batch, kv_len, case["kv-heads"], head_dim), dtype))
    v = _heads_first(data.normal((batch, kv_len, case["kv-heads"], head_dim), dtype))
    causal, grouped = case["causal"] == 1, case["heads"] != case["kv-heads"]

    def forward():
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped)

    if not case.backward:
        return forward
    for tensor in (q, k, v):
        tensor.requires_grad_()
    out = forward()
    grad = _heads_first(data.normal((batch, q_len, case["heads"], head_dim), dtype))
    return lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True)


def _heads_first(tensor):
    return tensor.transpose(1, 2).detach()


def _allow_only(kernel_source):
    torch.backends.cuda.enable_flash_sdp(kernel_source == "flash_attention_2")
    torch.backends.cuda.enable_cudnn_sdp(kernel_source == "cudnn")
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_math_sdp(False)
