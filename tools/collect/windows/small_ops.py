"""Small operators as PyTorch programs write them. Each builder takes tokens and hidden size and
returns a call; heads have 128 numbers. bf16 unless the name says otherwise."""

import torch
import torch.nn.functional as F

DIM = 128
BF16 = torch.bfloat16


def random(*shape, dtype=BF16):
    return torch.randn(shape, device="cuda", dtype=dtype)


# The functions themselves, so that they can be compiled as well.

def rms_hf(x, w):
    """LlamaRMSNorm of transformers."""
    wide = x.to(torch.float32)
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return w * wide.to(x.dtype)


def add_rms_hf(x, residual, w):
    x = x + residual
    return rms_hf(x, w), x


def rotate_half(x):
    first, second = x[..., :x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return torch.cat((-second, first), -1)


def rope_hf(q, k, cos, sin):
    """apply_rotary_pos_emb of transformers: q, k [batch, heads, tokens, dim]."""
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def rope_halves(x, cos, sin):
    """x [tokens, heads, dim], cos and sin [tokens, 1, dim / 2]."""
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def rope_pairs(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, odd * cos + even * sin), -1).flatten(-2)


def rope_complex(x, turns):
    """As Meta's Llama code has it."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(-2).type_as(x)


def silu_mul(gate, up):
    return F.silu(gate) * up


def silu_mul_packed(both):
    gate, up = both.chunk(2, -1)
    return F.silu(gate) * up


def gelu_new(x):
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))


def with_backward(function, *inputs):
    """The backward kernels alone."""
    for tensor in inputs:
        tensor.requires_grad_()
    out = function(*inputs)
    grad = torch.randn_like(out)
    return lambda: torch.autograd.grad(out, inputs, grad, retain_graph=True)


def norms(t, h):
    x, w, b = random(t, h), random(h), random(h)
    wide, wide_w = random(t, h, dtype=torch.float32), random(h, dtype=torch.float32)
    return {
        "layernorm": lambda: F.layer_norm(x, (h,), w, b),
        "layernorm_fp32": lambda: F.layer_norm(wide, (h,), wide_w, wide_w),
        "rmsnorm": lambda: F.rms_norm(x, (h,), w, 1e-6),
        "rmsnorm_hf": lambda: rms_hf(x, w),
        "softmax": lambda: torch.softmax(x, -1),
        "softmax_fp32": lambda: torch.softmax(wide, -1),
        "softmax_upcast": lambda: torch.softmax(x, -1, dtype=torch.float32).to(BF16),
        "mean_square": lambda: wide.pow(2).mean(-1, keepdim=True),
        "mean": lambda: wide.mean(-1, keepdim=True),
        "layernorm_bwd": with_backward(lambda x, w, b: F.layer_norm(x, (h,), w, b),
                                       random(t, h), random(h), random(h)),
        "rmsnorm_bwd": with_backward(lambda x, w: F.rms_norm(x, (h,), w, 1e-6),
                                     random(t, h), random(h)),
        "rmsnorm_hf_bwd": with_backward(rms_hf, random(t, h), random(h)),
    }


def pointwise(t, h):
    x, y, bias, row = random(t, h), random(t, h), random(h), random(t, 1)
    wide = random(t, h, dtype=torch.float32)
    gate, up, both = random(t, 7 * h // 2), random(t, 7 * h // 2), random(t, 7 * h)
    four, changed = random(t, 4 * h), random(t, h)
    return {
        "add": lambda: x + y,
        "scale_inplace": lambda: changed.mul_(-1.0),
        "add_bias": lambda: x + bias,
        "mul_row": lambda: x * row,
        "scale": lambda: x * 0.5,
        "neg": lambda: -x,
        "silu": lambda: F.silu(gate),
        "mul": lambda: torch.mul(gate, up),
        "silu_mul": lambda: silu_mul(gate, up),
        "silu_mul_packed": lambda: silu_mul_packed(both),
        "gelu": lambda: F.gelu(four),
        "gelu_tanh": lambda: F.gelu(four, approximate="tanh"),
        "gelu_new_hf": lambda: gelu_new(four),
        "cast_to_fp32": lambda: x.float(),
        "cast_to_bf16": lambda: wide.bfloat16(),
        "fill_zero": lambda: torch.zeros_like(x),
        "where": lambda: torch.where(x > 0, x, y),
        "silu_mul_bwd": with_backward(silu_mul, random(t, 7 * h // 2), random(t, 7 * h // 2)),
        "gelu_bwd": with_backward(F.gelu, random(t, 4 * h)),
    }


def copies(t, h):
    heads = h // DIM
    x, wide_rows, qkv = random(t, h), random(t, h + 1), random(t, 3 * h)
    double, target = random(t, 2 * h), random(t, h)
    by_head = x.view(t, heads, DIM).transpose(0, 1)
    third = qkv[:, h:2 * h]
    return {
        "clone": lambda: x.clone(),
        "copy_inplace": lambda: target.copy_(x),
        "transpose_2d": lambda: x.t().contiguous(),
        "heads_first": lambda: by_head.contiguous(),
        "slice_rows": lambda: third.contiguous(),
        "copy_unaligned": lambda: wide_rows[:, 1:].contiguous(),
        "copy_every_second": lambda: double[:, ::2].contiguous(),
        "add_slices": lambda: third + x,
        "add_unaligned": lambda: wide_rows[:, 1:] + x,
        "cat_two": lambda: torch.cat((x, target), -1),
        "split_add_strided": lambda: double[:, ::2] + double[:, 1::2],
    }


def rotations(t, h):
    heads = h // DIM
    kv = max(1, heads // 4)
    q, k = random(1, t, heads, DIM), random(1, t, kv, DIM)
    cos, sin = random(1, t, DIM), random(1, t, DIM)
    packed = random(t, (heads + 2 * kv) * DIM)
    strided = packed[:, :h].view(t, heads, DIM)
    half_cos, half_sin = random(t, 1, DIM // 2), random(t, 1, DIM // 2)
    wide_cos, wide_sin = half_cos.float(), half_sin.float()
    turns = torch.view_as_complex(random(t, 1, DIM // 2, 2, dtype=torch.float32))
    flat, whole = q[0], cos[0][:, None]
    return {
        "rope_hf": lambda: rope_hf(q.transpose(1, 2), k.transpose(1, 2), cos, sin),
        "rope_halves": lambda: rope_halves(strided, half_cos, half_sin),
        "rope_halves_fp32": lambda: rope_halves(strided.float(), wide_cos, wide_sin).to(BF16),
        "rope_pairs": lambda: rope_pairs(flat, half_cos, half_sin),
        "rope_complex": lambda: rope_complex(flat, turns),
        "half_neg": lambda: -flat[..., DIM // 2:],
        "half_mul": lambda: strided[..., :DIM // 2] * half_cos,
        "head_mul": lambda: flat * whole,
        "head_mul_transposed": lambda: flat.transpose(0, 1) * cos[0],
        "cat_halves": lambda: torch.cat((flat[..., DIM // 2:], flat[..., :DIM // 2]), -1),
    }


def cache_writes(t, h):
    """Keys of `t` new tokens: one to each of `t` sequences, or all to one sequence."""
    kv = max(1, h // DIM // 4)
    new = random(t, 1, kv, DIM)
    place = torch.tensor([300], device="cuda")
    found = {}
    if t <= 1024:
        cache = random(t, 512, kv, DIM)
        heads_first = random(t, kv, 512, DIM)
        found["kv_index_copy_decode"] = lambda: cache.index_copy_(1, place, new)
        found["kv_index_copy_decode_hf"] = lambda: heads_first.index_copy_(2, place,
                                                                           new.transpose(1, 2))
        found["kv_slice_decode"] = lambda: cache[:, 300:301].copy_(new)
        found["kv_cat_decode"] = lambda: torch.cat((heads_first, new.transpose(1, 2)), 2)
    long, places = random(1, t + 16, kv, DIM), torch.arange(t, device="cuda") + 5
    flat, rows = random(t + 16, kv, DIM), random(t, kv, DIM)
    found["kv_index_copy_prefill"] = lambda: long.index_copy_(1, places, rows[None])
    found["kv_index_put"] = lambda: flat.index_put_((places,), rows)
    table = torch.randint(0, t + 16, (t,), device="cuda")
    found["gather_rows"] = lambda: flat[table]
    return found


def embeddings(t, h):
    table = random(128256, h)
    ids = torch.randint(0, 128256, (t,), device="cuda")
    return {"embedding": lambda: F.embedding(ids, table)}


def sampling(t, vocab):
    logits, wide = random(t, vocab), random(t, vocab, dtype=torch.float32)
    chances = torch.softmax(wide, -1)
    return {
        "argmax": lambda: torch.argmax(logits, -1),
        "argmax_fp32": lambda: torch.argmax(wide, -1),
        "topk50": lambda: torch.topk(wide, 50, -1),
        "softmax_vocab": lambda: torch.softmax(wide, -1),
        "log_softmax_vocab": lambda: torch.log_softmax(wide, -1),
        "multinomial": lambda: torch.multinomial(chances, 1),
        "sort": lambda: torch.sort(wide, -1, descending=True),
        "cumsum": lambda: torch.cumsum(chances, -1),
        "logits_to_fp32": lambda: logits.float(),
    }


def losses(t, vocab):
    logits, targets = random(t, vocab), torch.randint(0, vocab, (t,), device="cuda")
    wide = logits.float().requires_grad_()
    loss = F.cross_entropy(wide, targets)
    return {
        "cross_entropy": lambda: F.cross_entropy(logits.float(), targets),
        "cross_entropy_bwd": lambda: torch.autograd.grad(loss, wide, retain_graph=True),
    }


GROUPS = {"norms": norms, "pointwise": pointwise, "copies": copies, "rotations": rotations,
          "cache_writes": cache_writes, "embeddings": embeddings, "sampling": sampling,
          "losses": losses}


def compiled_inputs(t, h):
    """name -> (function, inputs) for torch.compile."""
    x, w, heads = random(t, h), random(h), h // DIM
    cos, sin = random(1, t, DIM), random(1, t, DIM)
    q, k = random(1, heads, t, DIM), random(1, max(1, heads // 4), t, DIM)
    return {
        "rmsnorm_hf": (rms_hf, (x, w)),
        "add_rmsnorm_hf": (add_rms_hf, (x, random(t, h), w)),
        "layernorm": (lambda x, w: F.layer_norm(x, (x.shape[-1],), w, w), (x, w)),
        "silu_mul_packed": (silu_mul_packed, (random(t, 7 * h),)),
        "gelu_new_hf": (gelu_new, (random(t, 4 * h),)),
        "rope_hf": (rope_hf, (q, k, cos, sin)),
        "softmax_upcast": (lambda x: torch.softmax(x.float(), -1).to(x.dtype), (x,)),
        "add": (torch.add, (x, random(t, h))),
    }
