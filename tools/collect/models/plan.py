"""Which models are measured, how and at which sizes. Nothing here needs PyTorch."""

from dataclasses import astuple, dataclass, fields

from .shapes import SHAPES

CARD_BYTES = 128e9  # what weights and cache may take together


@dataclass(frozen=True)
class Case:
    model: str
    mode: str  # prefill | decode | train | forward_backward | forward
    engine: str  # cudagraph | eager | compile | compile_cudagraph
    ops: str  # fused (Triton) | plain (one PyTorch call per operator) | hf (as transformers does)
    attention: str  # flash | cudnn | eager
    dtype: str  # bf16 | autocast_bf16 | fp32
    checkpoint: int  # 1: activations of every layer are recomputed in backward
    batch: int
    length: int  # tokens per sequence; in decode the keys attended to, the new one included

    @property
    def key(self):
        return tuple(str(value) for value in astuple(self))


CASE_COLUMNS = [field.name for field in fields(Case)]
LANGUAGE_MODELS = ["llama-3.1-8b", "qwen2.5-7b", "qwen3-4b", "llama-2-13b"]
PREFILLS = [(1, 512), (1, 2048), (4, 2048), (1, 8192)]
DECODES = [(batch, length) for length in (512, 2048, 8192) for batch in (1, 8, 32, 128)]


def _serve(model, mode, engine, ops, sizes, attention="flash"):
    return [Case(model, mode, engine, ops, attention, "bf16", 0, *size) for size in sizes]


def _fits(model, batch, length):
    shape = SHAPES[model]
    return 2 * shape.parameters() + shape.cache_bytes(batch, length) < CARD_BYTES


def inference():
    cases = []
    for model in LANGUAGE_MODELS:
        decodes = [size for size in DECODES if _fits(model, *size)]
        cases += _serve(model, "prefill", "cudagraph", "fused", PREFILLS)
        cases += _serve(model, "decode", "cudagraph", "fused", decodes)
        if model in LANGUAGE_MODELS[:2]:
            for ops in ("fused", "plain"):
                cases += _serve(model, "prefill", "eager", ops, [(1, 512), (1, 2048)])
                cases += _serve(model, "decode", "eager", ops, [(1, 512), (8, 2048), (32, 2048)])
            cases += _serve(model, "prefill", "cudagraph", "plain", [(1, 2048)])
            cases += _serve(model, "decode", "cudagraph", "plain", [(8, 2048)])
            cases += _serve(model, "prefill", "cudagraph", "fused", [(4, 2048), (1, 8192)],
                            "cudnn")
    return cases


def _train(model, batch, length, dtype="autocast_bf16", checkpoint=0, engine="eager"):
    return Case(model, "train", engine, "plain", "flash", dtype, checkpoint, batch, length)


def training():
    cases = []
    for model in ("gpt2-large", "llama-3.2-1b", "gpt2-medium", "tinyllama-1.1b"):
        sizes = [(4, 1024), (8, 1024)]
        sizes += [] if model.startswith("gpt2") else [(2, 2048)]
        for checkpoint in (0, 1):
            cases += [_train(model, *size, checkpoint=checkpoint) for size in sizes]
        cases.append(_train(model, 8, 1024, dtype="bf16"))
        cases.append(_train(model, 1, 128))
    cases.append(_train("gpt2-medium", 16, 1024))
    for mode in ("forward_backward", "forward"):
        cases.append(Case("gpt2-large", mode, "eager", "hf", "eager", "fp32", 0, 4, 1024))
    return cases


def compiled():
    cases = _serve("llama-3.1-8b", "prefill", "compile", "plain", [(1, 2048)])
    cases += _serve("llama-3.1-8b", "decode", "compile", "plain", [(8, 2048)])
    cases += _serve("llama-3.1-8b", "decode", "compile_cudagraph", "plain", [(8, 2048)])
    cases.append(_train("gpt2-medium", 8, 1024, engine="compile"))
    cases.append(_train("llama-3.2-1b", 4, 1024, engine="compile"))
    return cases


PARTS = {"inference": inference, "training": training, "compile": compiled}
