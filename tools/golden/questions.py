"""What the large golden set asks: every family, GPU and format; models, engines and modes; clusters; serving; plans; tuning; programs and traces.

A question is a command without its GPUs, and the GPUs it is asked of. Lists and ranges in it make several forecasts of one command.
"""
import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Question:
    kind: str  # the class that a comparison sums it up under
    command: str
    gpus: tuple = ()  # none: the command says what it is about


# Shapes of families: small and large, measured and not, gradients where there are any. A family that is not listed is asked its example.
FAMILIES = {
    "gemm": ["--m 1,33,256,4096 --n 4096 --k 4096", "--m 8192 --n 28672 --k 8192", "--m 777 --n 1000 --k 96 --layout nn"],
    "bmm": ["--batch 32 --m 128,2048 --n 2048 --k 128"],
    "conv2d": ["--batch 32 --in-channels 64 --out-channels 128 --height 56 --width 56 --kernel 3 --padding 1",
               "--batch 8 --in-channels 256 --out-channels 256 --height 14 --width 14 --kernel 3 --padding 1 --backward weight"],
    "attention_prefill": ["--batch 4 --q-len 333,4096 --heads 32 --kv-heads 8", "--batch 1 --q-len 2048 --kv-len 8192 --heads 16 --head-dim 64 --mask full"],
    "attention_decode": ["--batch 1,64 --kv-len 4096 --heads 32 --kv-heads 8", "--batch 16 --kv-len 1000 --heads 64 --kv-heads 64 --head-dim 64 --q-len 2"],
    "attention_backward": ["--batch 4 --q-len 512,4096 --heads 32 --kv-heads 8"],
    "mla_prefill": ["--batch 1 --q-len 1024,8192 --heads 16"],
    "mla_decode": ["--batch 1,64 --kv-len 4096 --heads 128"],
    "moe": ["--tokens 16,4096 --hidden 4096 --inter 1536 --experts 128 --topk 8",
            "--tokens 512 --hidden 7168 --inter 2048 --experts 256 --topk 8 --ep 8 --distribution power_law"],
    "rmsnorm": ["--rows 1,4096 --cols 4096 --residual", "--rows 2048 --cols 5120 --backward"],
    "layernorm": ["--rows 1,4096 --cols 4096", "--rows 2048 --cols 768 --backward"],
    "softmax": ["--rows 16384 --cols 128,4096", "--rows 512 --cols 50257 --backward"],
    "elementwise": ["--elements 1000,33554432 --inputs 2 --op add", "--rows 4096 --cols 11008 --op gelu --backward"],
    "gated_activation": ["--rows 1,4096 --cols 14336"],
    "reduction": ["--rows 16,4096 --cols 16384"],
    "copy": ["--elements 1048576,268435456", "--rows 8192 --cols 4096 --transpose"],
    "rope": ["--tokens 1,8192 --heads 32 --kv-heads 8"],
    "embedding": ["--tokens 1,8192 --vocab 128256 --cols 4096", "--tokens 4096 --vocab 50257 --cols 768 --backward"],
    "quantize": ["--rows 1,4096 --cols 8192"],
    "kv_write": ["--tokens 1,8192 --kv-heads 8"],
    "cross_entropy": ["--rows 512,4096 --cols 32000"],
    "optimizer": ["--params 1000000,1000000000", "--params 100000000 --kind sgd --momentum --form foreach --tensors 200"],
    "sampling": ["--rows 1,256 --cols 128256 --strategy sampling --top-p"],
    "scan": ["--kind ssd_chunk --phase context --batch 1 --seq-len 1000,8192 --heads 64 --head-dim 64 --key-heads 8 --key-dim 128",
             "--kind recurrent_gated_delta --phase generation --batch 64 --heads 32 --head-dim 128"],
    "custom": ["--ctas 100,5000 --tensor-ops 1e9 --vector-ops 1e7 --load-bytes 1e8 --store-bytes 1e7 --steps 32"],
}

FORMATS = ("bf16 fp16 tf32 fp32 fp64 fp8 fp8_static fp8_token fp8_block fp8_block_static nvfp4 mxfp6 mxfp4 w4a16_mxfp4 w4a8_mxfp4_mxfp8 "
           "int8 int8_static int8_wo int4_wo").split()

# Cards on which many rows were measured, few, and none.
FEW = ("A100-SXM-80GB", "H100-SXM", "H200-SXM", "B200", "L40S", "RTX-4090", "MI300X", "T4")
SERVERS = ("A100-SXM-80GB", "H100-SXM", "B200", "MI355X")

# Other ways to ask for the same kernels.
CONDITIONS = ["--method roofline", "--method analytic", "--runtime eager", "--warmth warm", "--warmth cold",
              "--run sustained", "--engine vllm", "--engine sglang", "--engine trtllm", "--engine pytorch"]

MODELS = ("Llama-3.1-8B", "Qwen3-30B-A3B", "DeepSeek-V2-Lite", "Gemma-3-4B", "gpt-oss-20b", "Qwen3-Next-80B-A3B", "Mixtral-8x7B", "Llama-2-7B")
ENGINES = ("pytorch", "compile", "cudagraph", "vllm", "sglang", "trtllm")
STEPS = ("--mode prefill --seq 1000,4096", "--mode decode --batch 1,64 --context 2048", "--mode mixed --requests 32x1+1024,1x512")
TRAININGS = ["", "--mixed autocast", "--mixed master --fused-optimizer", "--recompute full", "--recompute selective", "--optimizer sgd", "--dropout",
             "--train-precision fp8-current", "--tune lora", "--tune qlora --lora-rank 64", "--objective dpo", "--attention eager", "--accumulate 4",
             "--documents 4", "--framework megatron", "--framework torchtitan"]
LAYOUTS = ["--dp 8", "--tp 8", "--tp 8 --sequence-parallel --pp 2 --global-batch 32", "--tp 4 --pp 2 --dp 2 --sharding zero1 --global-batch 64",
           "--dp 16 --sharding fsdp", "--tp 2 --cp 4 --context-scheme all-gather", "--pp 4 --schedule zero-bubble --global-batch 32",
           "--pp 4 --schedule interleaved --chunks 2 --global-batch 32", "--pp 4 --schedule zero-bubble-v --global-batch 32",
           "--dp 32 --sharding zero3 --shard-group 8 --recompute full"]
SERVED = ["--rate 2,8", "--rate 8 --burstiness 0.3 --input lognormal:800:0.6 --output uniform:128:0.5", "--concurrency 4,64",
          "--rate 4 --prefixes 2 --prefix-tokens 800", "--rate 4 --turns 3 --think-time 5s", "--rate 8 --draft 3 --acceptance 0.8,0.6",
          "--rate 6 --dp 2 --router power-of-two", "--rate 6 --no-prefix-caching --no-overlap", "--rate 8 --kv-dtype fp8",
          "--concurrency 128 --max-num-seqs 32", "--rate 4 --slo ttft=500ms,tpot=30ms --ttft-timeout 2s"]


def kernels(families, formats):
    for family, example in families.items():
        shapes = FAMILIES.get(family, [example])
        for shape in shapes:
            for form in FORMATS:
                yield Question(f"kernel {family}", f"kernel {family} {shape} --dtype {form}", formats[form])
        for condition in CONDITIONS:
            yield Question(f"kernel {family}, {condition[2:]}", f"kernel {family} {shapes[0]} {condition}", FEW)


def steps(models, formats):
    for model in models:
        for mode in ("--mode prefill --batch 2", "--mode decode --batch 8 --context 512"):
            yield Question(f"model {mode.split()[1]}", f"predict {model} {mode}", ("H100-SXM", "A40", "MI325X"))
    for model in MODELS:
        for engine in ENGINES:
            for step in STEPS:
                yield Question(f"{engine} {step.split()[1]}", f"predict {model} --engine {engine} {step}", FEW)
        for form in ("fp8", "int4_wo", "nvfp4", "fp16"):
            cards = tuple(card for card in FEW if card in formats[form])
            yield Question(f"vllm decode in {form}", f"predict {model} --dtype {form} --mode decode --batch 16 --context 1024", cards)
        yield Question("memory", f"memory {model} --mode decode --batch 1,16 --context 8192", FEW)
    for step in ("--mode prefill --seq 2048", "--mode decode --batch 32 --context 1024"):
        yield Question("every card", f"predict Llama-3.1-8B {step}", formats["bf16"])
    for step in ("--era 2024", "--kv-dtype fp8", "--all-logits", "--method analytic", "--method roofline", "--context 4096"):
        yield Question(f"step {step}", f"predict Llama-3.1-8B --mode prefill --seq 1024 {step}", FEW)


def trainings():
    for model in ("gpt2-large", "BERT-Large", "Llama-3.1-8B", "vit-large-patch16-224", "Qwen3-0.6B"):
        tokens = "" if "vit" in model else " --seq 512"
        for option in TRAININGS:
            yield Question("training step", f"predict {model} --mode train --batch 4{tokens} {option}".strip(), FEW)
        yield Question("training memory", f"memory {model} --mode train --batch 1,8{tokens}", FEW)
    for model in ("Llama-3.1-8B", "Llama-3.1-70B", "Qwen3-30B-A3B"):
        for cluster in ("hgx-h100", "hgx-b200", "hgx-a100", "mi300x-8", "hgx-h100@hdr200", "hgx-h100@efa-v2"):
            for layout in LAYOUTS + (["--ep 8 --dp 8", "--ep 8 --dp 8 --token-dispatch deepep"] if "A3B" in model else []):
                yield Question("training over GPUs", f"predict {model} --cluster {cluster} --mode train --seq 4096 --micro-batch 1 {layout}")


def shared_steps():
    for model in ("Llama-3.1-70B", "Qwen3-30B-A3B", "DeepSeek-V3"):
        for cluster in ("hgx-h100", "hgx-h200", "hgx-b200", "gb200-nvl72", "mi355x-8", "l40s-pcie-8"):
            for layout in ("--tp 2", "--tp 8", "--tp 4 --pp 2", "--tp 8 --pp 2") + (() if "70B" in model else ("--tp 8 --ep 8",)):
                for mode in ("--mode prefill --seq 2048", "--mode decode --batch 32 --context 2048"):
                    yield Question("step over GPUs", f"predict {model} --cluster {cluster} {layout} {mode}")


def collectives(clusters, fabrics):
    for op in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"):
        for cluster in clusters:
            yield Question(f"collective {op}", f"collective {op} --bytes 1K,100K,1M,30M,1G --cluster {cluster}")
        for fabric in fabrics:
            yield Question(f"collective {op} between nodes", f"collective {op} --bytes 8K,1M,256M --ranks 64 --cluster hgx-h100@{fabric}")
            yield Question(f"collective {op} between nodes", f"collective {op} --bytes 1M,256M --ranks 4 --local 1 --cluster hgx-a100@{fabric}")
    for library in ("vllm", "sglang", "trtllm"):
        for cluster in ("hgx-h100-8", "hgx-b200-8", "hgx-a100-8", "l40s-pcie-8", "hgx-h20-8"):
            for eager in ("", " --eager"):
                yield Question(f"all-reduce of {library}", f"collective all_reduce --bytes 4K,256K,16M --ranks 2 --library {library} --cluster {cluster}{eager}")
    for op in ("dispatch", "combine"):
        for library in ("deepep", "deepep-ll", "trtllm-one-sided", "trtllm-two-sided"):
            for cluster in ("hgx-h100", "hgx-h200", "hgx-b200", "gb200-nvl72"):
                for ranks in (8, 32):
                    yield Question(f"{op} of {library}", f"collective {op} --tokens 8,128,4096 --ranks {ranks} --library {library} --cluster {cluster}")


def serving():
    for engine in ("vllm", "sglang", "trtllm"):
        for model, cards in (("Llama-3.1-8B", SERVERS), ("Qwen3-30B-A3B", SERVERS[1:3])):
            for card in cards:
                for load in SERVED:
                    yield Question(f"served by {engine}", f"simulate {model} --engine {engine} --gpu {card} --num-prompts 60 {load}")
    for layout in ("--tp 4", "--tp 8 --ep 8", "--tp 2 --pp 2", "--tp 2 --prefill-replicas 2", "--attention-dp 8 --ep 8", "--dp 2 --autoscale target=8,min=1,max=4",
                   "--offload-host 64 --prefixes 8 --prefix-tokens 2000", "--adapters 8", "--policy static", "--tp 8 --dcp-size 2", "--tp 4 --redundant-experts 8 --ep 4"):
        for card in ("H100-SXM", "B200"):
            yield Question("served over GPUs", f"simulate Qwen3-30B-A3B --gpu {card} --num-prompts 60 --rate 6 {layout}")


def plans():
    for model in ("Llama-3.1-8B", "Qwen3-30B-A3B"):
        for goal in ("--slo ttft=1s,tpot=50ms --rate 10", "--objective throughput", "--objective load --slo ttft=1s,tpot=50ms",
                     "--objective energy --slo ttft=1s,tpot=50ms --rate 10"):
            for gpus in ("8xH100-SXM", "8xB200", "4xL40S"):
                yield Question("plan of serving", f"plan serve {model} {goal} --gpus {gpus} --num-prompts 60")
    for model in ("Llama-3.1-8B", "Llama-3.1-70B", "Qwen3-30B-A3B"):
        for gpus in ("8xH100-SXM", "64xH100-SXM", "256xB200", "64xA100-SXM-80GB", "64xMI300X"):
            for option in ("", " --mixed autocast --optimizer adam", " --framework torchtitan"):
                yield Question("plan of training", f"plan train {model} --gpus {gpus} --global-batch 512 --seq 4096{option}")
    yield Question("plan of training", "plan train Llama-3.1-70B --gpus H100-SXM --tokens 2T --deadline 30 --global-batch 1024 --seq 8192 --scaling")


def tuning():
    for card in ("H200-SXM", "H100-SXM", "A100-SXM-80GB", "B200", "L40S", "RTX-4090", "MI300X", "T4"):
        for form in ("bf16", "fp8", "int8"):
            yield Question("tuned product", f"tune gemm --gpu {card} --m 16,256,4096 --n 4096 --k 4096 --dtype {form}")
            yield Question("tuned experts", f"tune fused-moe --gpu {card} --tokens 1,64,1024 --experts 128 --hidden 2048 --inter 768 --topk 8 --dtype {form}")


def recordings():
    for path in sorted((ROOT / "data/programs").glob("*.json.gz")):
        yield Question("recorded program", f"predict data/programs/{path.name}", ("H200-SXM", "A100-SXM-80GB", "B200", "RTX-4090"))
    for path in sorted((ROOT / "data/measurements/traces").glob("*.json.gz")):
        yield Question("trace", f"diagnose data/measurements/traces/{path.name} --gpu H200-SXM")
        for card in ("B200", "A100-SXM-80GB"):
            yield Question("re-timed trace", f"retime data/measurements/traces/{path.name} --from H200-SXM --gpu {card}")
    yield Question("graph", "predict examples/graphs/flux1-schnell-256.json", FEW)


# What --only of tools/golden/capture names: functions of what a program knows (its families with an example each, models, clusters, fabrics) and of the
# GPUs that have each format.
GROUPS = {
    "kernels": lambda known, formats: kernels(known["families"], formats),
    "steps": lambda known, formats: steps(known["models"], formats),
    "trainings": lambda known, formats: trainings(),
    "ranks": lambda known, formats: shared_steps(),
    "collectives": lambda known, formats: collectives(known["clusters"], known["fabrics"]),
    "serving": lambda known, formats: serving(),
    "plans": lambda known, formats: plans(),
    "tuning": lambda known, formats: tuning(),
    "recordings": lambda known, formats: recordings(),
}


def format_probe(form, cards):
    """What tells which GPUs have a format."""
    return Question("formats", f"kernel gemm --m 128 --n 1024 --k 1024 --dtype {form}", cards)
