"""Which programs are measured: kinds, sizes, eager or compiled, and which part of the kinds each belongs to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Program:
    kind: str
    builder: str  # a function of vision.py, language.py, others.py, unseen.py, fresh.py, untouched.py or sealed.py
    mode: str  # inference | training
    sizes: dict[str, Any] = field(default_factory=dict)
    engine: str = "eager"  # eager | compile
    trace: bool = False  # its profiler's trace is kept, for retiming
    laid_out: bool = False  # its layers follow from tensors' numbers, which fake ones do not have

    @property
    def name(self) -> str:
        shown = "_".join(f"{key}{value}" for key, value in self.sizes.items() if _is_size(value))
        return "-".join(part for part in (self.kind, self.mode, self.engine, shown) if part)

    @property
    def half(self) -> str:
        """Programs of one kind are all in the same half; kinds that nothing was chosen by are `untouched`."""
        return "untouched" if self.kind in UNTOUCHED_KINDS else half_of(self.kind)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def half_of(kind: str) -> str:
    return "choose" if hashlib.sha256(kind.encode()).digest()[0] % 2 == 0 else "judge"


def _p(kind: str, builder: str, mode: str, engine: str = "eager", trace: bool = False, **sizes: Any) -> Program:
    return Program(kind, builder, mode, sizes, engine, trace)


def eager() -> list[Program]:
    """The most telling ones first, so that an interrupted run has a bit of everything."""
    i, t = "inference", "training"
    return [
        _p("resnet50", "torchvision_model", t, name="resnet50", batch=128, train=True, autocast="bf16",
           channels_last=True),
        _p("bert", "bert", t, batch=16, length=512, size="large", train=True, autocast="bf16"),
        _p("llama", "llama", i, batch=4, length=2048),
        _p("gpt2", "gpt2", t, batch=8, length=1024),
        _p("unet", "unet", i, batch=8, side=64, train=False),
        _p("swin", "torchvision_model", t, name="swin_t", batch=64, train=True, autocast="bf16"),
        _p("dlrm", "recommender", t, batch=16384, train=True),
        _p("t5", "t5", t, batch=16, source=512, target=128, train=True),
        _p("whisper", "whisper", i, batch=16, length=64, train=False),
        _p("convnext", "torchvision_model", i, name="convnext_base", batch=128, dtype="bf16"),
        _p("qwen-moe", "qwen_moe", i, batch=4, length=2048, layers=8),
        _p("lstm", "lstm", t, batch=128, length=256, train=True),
        _p("gnn", "graph", t, nodes=200000, edges=2000000, train=True),
        _p("clip", "clip", t, batch=256, train=True),
        _p("segformer", "segformer", i, batch=16, side=512, train=False),
        _p("mamba", "mamba", i, batch=4, length=1024, layers=12),
        _p("lora", "lora", t, batch=4, length=2048),
        _p("recompute", "llama", t, batch=4, length=2048, train=True, recompute=True),
        _p("triton", "triton_layers", i, rows=16384),
        _p("wav2vec2", "wav2vec2", i, batch=16, seconds=10),
        _p("vit", "vit", t, batch=64),
        _p("efficientnet", "torchvision_model", i, name="efficientnet_v2_s", batch=128, dtype="fp16",
           channels_last=True),
        _p("radiance", "radiance", t, rays=4096, samples=64),
        _p("encoder", "encoder", t, batch=16, length=512, train=True),
        _p("generator", "generator", t, batch=256),
        _p("video", "video", i, batch=16, frames=16, side=112),
        _p("super-resolution", "super_resolution", i, batch=8, side=256),
        _p("waves", "waves", i, batch=16, length=16000),
        _p("graph-attention", "graph_attention", i, nodes=200000, edges=2000000),
        _p("resnet50", "torchvision_model", i, name="resnet50", batch=128),
        _p("mobilenet", "torchvision_model", t, name="mobilenet_v3_large", batch=128, train=True),
        _p("unet", "unet", t, batch=4, side=64, train=True),
        _p("bert", "bert", i, batch=64, length=128),
        _p("autocast", "gpt2", t, batch=4, length=1024, train=True, autocast=True, fused=True),
        _p("whisper", "whisper", t, batch=8, length=128, train=True),
        _p("segformer", "segformer", t, batch=8, side=512, train=True),
        _p("qwen-moe", "qwen_moe", t, batch=2, length=1024, layers=4, train=True),
        _p("lstm", "lstm", i, batch=128, length=256, train=False),
        _p("dlrm", "recommender", i, batch=16384, train=False),
        _p("t5", "t5", i, batch=16, source=512, target=128, train=False),
        _p("clip", "clip", i, batch=64, train=False),
    ]


def retimed() -> list[Program]:
    """Four programs at two batch sizes and two lengths each, a few layers, so that their traces stay small."""
    i, t = "inference", "training"
    found = []
    for batch, length in ((4, 1024), (8, 1024), (4, 2048), (8, 2048)):
        found.append(_p("gpt2", "gpt2", t, trace=True, batch=batch, length=length, layers=4))
        found.append(_p("llama", "llama", i, trace=True, batch=batch // 4, length=2 * length, layers=4, hidden=4096))
    for batch, length in ((16, 128), (64, 128), (16, 512), (64, 512)):
        found.append(_p("bert", "bert", t, trace=True, batch=batch, length=length, layers=4, train=True, dtype="bf16"))
    for batch, side in ((32, 224), (64, 224), (32, 384), (64, 384)):
        found.append(_p("vit", "vit", i, trace=True, batch=batch, side=side, layers=4, hidden=1024, train=False))
    return found


def compiled() -> list[Program]:
    """Shorter than the eager ones where they are deep, since every layer is compiled."""
    i, t, c = "inference", "training", "compile"
    return [
        _p("llama", "llama", i, c, batch=4, length=2048, layers=8),
        _p("gpt2", "gpt2", t, c, batch=8, length=1024, layers=8),
        _p("resnet50", "torchvision_model", i, c, name="resnet50", batch=128, dtype="fp16", channels_last=True),
        _p("dlrm", "recommender", t, c, batch=16384, train=True),
        _p("vit", "vit", t, c, batch=64, layers=8),
        _p("bert", "bert", t, c, batch=16, length=512, layers=8, train=True, autocast="bf16"),
        _p("radiance", "radiance", t, c, rays=4096, samples=64),
        _p("lora", "lora", t, c, batch=4, length=2048, layers=8),
        _p("unet", "unet", i, c, batch=8, side=64, train=False),
        _p("encoder", "encoder", i, c, batch=16, length=512, train=False),
        _p("super-resolution", "super_resolution", i, c, batch=8, side=256),
        _p("gnn", "graph", t, c, nodes=200000, edges=2000000, train=True),
        _p("mamba", "mamba", i, c, batch=4, length=1024, layers=4),
        _p("convnext", "torchvision_model", i, c, name="convnext_base", batch=128, dtype="bf16"),
        _p("segformer", "segformer", i, c, batch=16, side=512, train=False),
        _p("mobilenet", "torchvision_model", t, c, name="mobilenet_v3_large", batch=128, train=True),
        _p("generator", "generator", t, c, batch=256),
        _p("clip", "clip", t, c, batch=256, train=True),
        _p("encoder", "encoder", t, c, batch=16, length=512, train=True),
        _p("swin", "torchvision_model", t, c, name="swin_t", batch=64, train=True, autocast="bf16"),
        _p("whisper", "whisper", i, c, batch=16, length=64, train=False),
        _p("t5", "t5", t, c, batch=16, source=512, target=128, train=True),
        _p("efficientnet", "torchvision_model", i, c, name="efficientnet_v2_s", batch=128, dtype="fp16",
           channels_last=True),
        _p("video", "video", i, c, batch=16, frames=16, side=112),
    ]


def blind() -> list[Program]:
    """Measured once, before the rules of convolutions; looked at since, so that they are halved like the first ones."""
    i, t, c = "inference", "training", "compile"
    return [
        _p("registers", "registers", i, batch=64, side=224),
        _p("rotary-encoder", "rotary_encoder", t, batch=16, length=512, train=True, autocast="bf16"),
        _p("disentangled", "disentangled", t, batch=16, length=256, train=True, autocast="bf16"),
        _p("diffusion-transformer", "diffusion_transformer", t, batch=64, side=32),
        _p("points", "points", t, batch=64, count=2048),
        _p("temporal", "temporal", t, batch=32, length=2048, train=True),
        _p("volumes", "volumes", t, batch=2, side=64, train=True),
        _p("shared-layers", "shared_layers", t, batch=16, length=512, train=True),
        _p("linear-attention", "linear_attention", t, batch=8, length=1024, layers=8, train=True),
        _p("translator", "translator", t, batch=128, length=64),
        _p("mixture", "mixture", t, batch=4, length=1024, layers=6, train=True),
        _p("mixer", "mixer", i, batch=128),
        Program("regnet", "torchvision_model", i,
                {"name": "regnet_y_3_2gf", "batch": 128, "dtype": "fp16", "channels_last": True}, laid_out=True),
        _p("densenet", "torchvision_model", t, name="densenet121", batch=64, train=True, autocast="bf16"),
        _p("distilled", "distilled", i, batch=1, length=128),
        _p("registers", "registers", i, c, batch=64, side=224),
        _p("rotary-encoder", "rotary_encoder", t, c, batch=16, length=512, layers=6, train=True, autocast="bf16"),
        _p("disentangled", "disentangled", i, c, batch=16, length=256, layers=6, train=False, dtype="bf16"),
        _p("diffusion-transformer", "diffusion_transformer", t, c, batch=64, side=32, layers=6),
        _p("points", "points", t, c, batch=64, count=2048),
        _p("temporal", "temporal", t, c, batch=32, length=2048, train=True),
        _p("volumes", "volumes", i, c, batch=2, side=96, train=False),
        _p("shared-layers", "shared_layers", t, c, batch=16, length=512, train=True),
        _p("linear-attention", "linear_attention", i, c, batch=8, length=1024, layers=8, train=False),
        _p("mixer", "mixer", i, c, batch=128, layers=8),
    ]


def fresh() -> list[Program]:
    """Measured once after the rules of convolutions were final; looked at since, so that they are halved too."""
    i, t, c = "inference", "training", "compile"
    return [
        _p("resnext", "torchvision_model", t, name="resnext50_32x4d", batch=64, train=True, autocast="bf16",
           channels_last=True),
        _p("shufflenet", "torchvision_model", t, name="shufflenet_v2_x1_0", batch=128, train=True),
        _p("mnasnet", "torchvision_model", i, name="mnasnet1_0", batch=256, dtype="fp16", channels_last=True),
        _p("inception", "torchvision_model", i, name="googlenet", batch=128),
        _p("vgg", "torchvision_model", t, name="vgg11_bn", batch=32, train=True, autocast="bf16"),
        _p("segmentation", "segmentation", i, batch=8, side=512),
        _p("conformer", "conformer", t, batch=32, frames=1000, train=True),
        _p("wavenet", "wavenet", t, batch=8, length=8192, train=True),
        _p("latent-decoder", "latent_decoder", i, batch=4, side=32),
        _p("distilled-image", "distilled_image", i, batch=64),
        _p("summarizer", "summarizer", t, batch=16, source=512, target=128),
        _p("discriminator", "discriminator", t, batch=64, length=256),
        _p("plain-recurrent", "plain_recurrent", t, batch=256, length=128),
        _p("resnext", "torchvision_model", i, c, name="resnext50_32x4d", batch=64, dtype="fp16", channels_last=True),
        _p("conformer", "conformer", i, c, batch=32, frames=1000, layers=4, train=False),
        _p("wavenet", "wavenet", t, c, batch=8, length=8192, train=True),
        _p("latent-decoder", "latent_decoder", i, c, batch=4, side=32),
        _p("distilled-image", "distilled_image", i, c, batch=64, layers=6),
        _p("discriminator", "discriminator", t, c, batch=64, length=256, layers=6),
    ]


def untouched() -> list[Program]:
    """Kinds measured once after the rules that the fresh ones had shown to be wrong were fixed."""
    i, t, c = "inference", "training", "compile"
    return [
        _p("pyramid", "pyramid", t, batch=32, side=256),
        _p("parallel-decoder", "parallel_decoder", t, batch=8, length=1024),
        _p("listener", "listener", t, batch=32, frames=800),
        _p("autoencoder", "autoencoder", t, batch=256),
        _p("next-item", "next_item", t, batch=256, length=200),
        _p("prompted-encoder", "prompted_encoder", i, batch=8),
        _p("maxvit", "torchvision_model", i, name="maxvit_t", batch=64, dtype="fp16"),
        _p("parallel-decoder", "parallel_decoder", t, c, batch=8, length=1024, layers=6),
        _p("sloped-decoder", "sloped_decoder", i, c, batch=8, length=1024, layers=6),
        _p("crossed", "crossed", t, c, batch=16384),
        _p("outline", "outline", t, c, batch=16, side=256),
        _p("flow", "flow", t, c, batch=32768),
        _p("reader", "reader", i, c, batch=32, length=2048),
        _p("columns", "columns", t, c, batch=4096, columns=31),
        _p("next-item", "next_item", t, c, batch=256, length=200),
        _p("pyramid", "pyramid", t, c, batch=32, side=256),
    ]


def sealed() -> list[Program]:
    """Kinds written before the last rules of memory were fixed; recorded and forecast once after that."""
    i, t, c = "inference", "training", "compile"
    return [
        _p("contrastive", "contrastive", t, batch=128),
        _p("finder", "finder", t, batch=16),
        _p("codes", "codes", t, batch=64, side=128),
        _p("depth", "depth", i, batch=32),
        _p("pairs", "pairs", t, batch=2, length=256, train=True),
        _p("captions", "captions", t, batch=64, length=64),
        _p("pairs", "pairs", i, c, batch=2, length=256, train=False),
        _p("towers", "towers", t, c, batch=128, length=128, layers=6),
        _p("patches", "patches", i, c, batch=32, layers=6),
        _p("vocoder", "vocoder", i, c, batch=8, length=200),
        _p("normless", "normless", t, c, batch=64),
        _p("ensemble", "ensemble", t, c, batch=8192),
        _p("normed-decoder", "normed_decoder", t, c, batch=4, length=2048, layers=6),
    ]


UNTOUCHED_KINDS = {program.kind for program in untouched() + sealed()}


def everything() -> list[Program]:
    return eager() + compiled() + retimed() + blind() + fresh() + untouched() + sealed()


def build(program: Program) -> Any:
    """The program's Work on the default device, ready to run."""
    from . import fresh as further, language, others, sealed as closed, unseen, untouched as last, vision
    for module in (vision, language, others, unseen, further, last, closed):
        if hasattr(module, program.builder):
            return getattr(module, program.builder)(**program.sizes)
    raise KeyError(f"no builder {program.builder}")
