"""Turns a case into a callable that launches it once on its own input set."""

from . import work_attention, work_matmul, work_memory, work_training

BUILDERS = {
    "gemm": work_matmul.gemm, "bmm": work_matmul.bmm,
    "attention_prefill": work_attention.attention,
    "attention_decode": work_attention.attention,
    "elementwise": work_memory.elementwise,
    "layernorm": work_memory.rowwise, "rmsnorm": work_memory.rowwise,
    "softmax": work_memory.rowwise, "copy": work_memory.copy,
    "transpose": work_memory.transpose, "reduction": work_memory.reduction,
    "gated_activation": work_memory.gated_activation, "rope": work_memory.rope,
    "embedding": work_training.embedding, "cross_entropy": work_training.cross_entropy,
    "optimizer": work_training.optimizer,
}


def build(case, data):
    return BUILDERS[case.family](case, data)
