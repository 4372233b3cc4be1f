// Reports of training on many GPUs.
#include <fmt/format.h>

#include <algorithm>

#include "lab/evidence/endtoend_report_parts.h"

namespace tilecast {
namespace {

std::string gpus_of(const EndToEndResult& r) {
  return fmt::format("{:>4}", r.label.detail.substr(0, r.label.detail.find(' ')));
}
bool is_bf16(const EndToEndResult& r) { return r.label.detail.find("bf16") != std::string::npos; }

std::size_t not_fitting(const Results& results) {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const EndToEndResult& r) { return !r.fits; }));
}

// Attention's two constants: Ampere's was chosen on one card, Hopper's on three models.
const char* mosaic_half(const EndToEndResult& r) {
  const std::string& model = r.label.model;
  const bool hopper = r.label.gpu == "H100-SXM" && (model == "MPT-760m" || model == "MPT-3b" || model == "MPT-13b");
  return hopper || r.label.gpu == "A100-SXM-80GB" ? "chosen on" : "judged";
}

std::string mosaic_report(const Results& all) {
  if (all.empty()) return {};
  Results bf16, fp8;
  for (const EndToEndResult& r : all) (is_bf16(r) ? bf16 : fp8).push_back(r);
  const auto table = [&](const char* title, const auto& word) {
    return table_by(
        {"GPU", title}, bf16,
        [&](const EndToEndResult& r) {
          return Words{r.label.gpu, word(r)};
        },
        "all");
  };
  std::string out = fmt::format(
      "### FSDP on 8 to 512 GPUs: MosaicML's llm-foundry\n\n"
      "MPT models of 125 million to 70 billion parameters under Composer (2023), tokens a second. Two constants were "
      "chosen: FlashAttention in Triton takes 1.6 times as long as FlashAttention 2\n"
      "(A100 80 GB rows), on Hopper 2.15 times (H100 rows of MPT-760m, 3b and 13b); the others judge. Assumed: nodes "
      "of eight, 1600 Gb/s between A100\n"
      "nodes (the table's own headings), 3200 between H100 ones; weights gathered in fp32 under autocast, in bf16 in\n"
      "\"pure\" mode, gradients in bf16; flash-attn's loss, LayerNorm in low precision (submit_benchmarks.py). FSDP's\n"
      "copies before it scatters gradients were put in after a look at H100's errors (11.2 % median without them).\n"
      "{} of {} runs are forecast not to fit their cards, though all ran.\n\n",
      not_fitting(bf16), bf16.size());
  out += table("constants", mosaic_half);
  out += table("model", [](const EndToEndResult& r) { return r.label.model; });
  out += table("tokens a sequence", [](const EndToEndResult& r) { return fmt::format("{:>5}", r.label.length); });
  out += table("GPUs", gpus_of);
  if (fp8.empty()) return out;
  return out + "Products in fp8 (Transformer Engine), apart:\n\n" +
         table_by(
             {"model"}, fp8, [](const EndToEndResult& r) { return Words{r.label.model}; }, "all");
}

std::string megatron_report(const Results& all) {
  if (all.empty()) return {};
  Results memory, steps;
  for (const EndToEndResult& r : all) (r.quantity == "memory" ? memory : steps).push_back(r);
  const Grouping by_family = [](const EndToEndResult& r) {
    const std::size_t comma = r.label.detail.find(", ");
    return Words{r.label.detail.substr(0, comma), r.label.detail.substr(comma + 2)};
  };
  return fmt::format(
             "### Memory under every parallelism: Megatron-LM's continuous tests\n\n"
             "Peak of PyTorch's allocator on the last rank (it writes the log), so of the last pipeline stage. "
             "Completed runs said not to fit: {} of {}. Assumed where the rows are "
             "silent, as Megatron's arguments have it: dropout 0.1 and biases (none in tests of gated models), "
             "gradients summed in fp32 buffers that stay, an fp32 copy and two moments with the optimizer, the loss "
             "computed in place over fp32 logits, fused attention unless the row says otherwise; vocabularies are the "
             "tests' tokenizers', padded to a multiple of 128 tp. The table says eight GPUs of every test; "
             "layouts that need more are forecast on the fewest. Left out: tests of releases (15B, Mixtral, DeepSeek), "
             "whose GPUs are not said; hybrid, llava, mimo and grpo tests, whose models the rows do not describe.\n\n",
             not_fitting(memory), memory.size()) +
         table_by({"tests", "attention"}, memory, by_family, "all") +
         "Their step times, for the record: tiny models that wait for the host.\n\n" +
         table_by({"tests", "attention"}, steps, by_family, "all");
}

std::string half_of_training(const EndToEndResult& r) {
  return r.label.detail.find("chosen on") != std::string::npos ? "chosen on" : "judged";
}

std::string mlperf_report(const Results& all) {
  if (all.empty()) return {};
  return fmt::format(
             "### Tuned by submitters: MLPerf Training v5.1\n\n"
             "Seconds of a step, the median of a submission's runs, where its scripts tell layout and precision. As "
             "NVIDIA's implementations have it (their configuration scripts): a distributed optimizer beside the "
             "passes, "
             "layers in CUDA graphs, nothing recomputed; LoRA's attention reads fp8, but for AMD's; Flux is a graph "
             "that "
             "data parallel ranks repeat (docs/graphs.md). Choices were made on half of submitters, machines and "
             "benchmarks. {} of {} are forecast not to fit their cards, mostly "
             "LoRA, whose frozen weights are counted in bf16 and were kept in fp8.\n\n",
             not_fitting(all), all.size()) +
         table_by(
             {"submissions"}, all, [](const EndToEndResult& r) { return Words{half_of_training(r)}; }, "all") +
         table_by(
             {"benchmark", "GPU"}, all,
             [](const EndToEndResult& r) {
               return Words{r.label.model, r.label.gpu};
             },
             nullptr);
}

std::string own_training_report(const Results& all) {
  if (all.empty()) return {};
  return "### Training steps of a few layers, on our own H200\n\n"
         "bf16 and fp8 after torchao's recipes, recomputation, adapters "
         "(data/measurements/h200_training_steps.csv.gz), steps "
         "back to back for a second, and the allocator's peak. Choices were made on the 8B's steps of 8,192 tokens; "
         "other sizes "
         "are the judge. Compiled fp8 steps of one sequence of 8,192 tokens have a kernel of Inductor's in them, 1.8 "
         "ms per layer, "
         "that others have not and no forecast here.\n\n" +
         table_by(
             {"what", "sizes"}, all,
             [](const EndToEndResult& r) {
               return Words{r.quantity, half_of_training(r)};
             },
             nullptr) +
         table_by(
             {"what", "step", "engine"}, all,
             [](const EndToEndResult& r) {
               return Words{r.quantity, r.label.mode, r.label.engine};
             },
             nullptr);
}

std::string vendor_report(const Results& bridge, const Results& nemo) {
  if (bridge.empty() && nemo.empty()) return {};
  Results all = bridge;
  all.insert(all.end(), nemo.begin(), nemo.end());
  return fmt::format(
             "### Tuned by the vendor: NVIDIA's own training tables\n\n"
             "Megatron-Bridge's and NeMo's published tokens a second, reported apart: what is recomputed, overlapped "
             "and captured in CUDA graphs is not stated. Assumed: nothing recomputed, no launch waits for the host, "
             "cuDNN's attention, Transformer Engine's casts (docs/training.md). Models with experts in "
             "Megatron-Bridge: what "
             "is captured in graphs, dispatched by DeepEP and recomputed as its presets say "
             "(scripts/performance/configs); "
             "where layers are not captured, experts' launches are counted as one, and small ones come out too fast. "
             "Choices "
             "were made on half of the tables' cards and models. {} of {} rows do not fit without recomputation. "
             "Dropped tokens, layouts "
             "given in alternatives, shifted rows and models without a description here are left out.\n\n",
             not_fitting(all), all.size()) +
         table_by(
             {"table", "cards and models"}, all,
             [](const EndToEndResult& r) {
               return Words{r.label.source, half_of_training(r)};
             },
             nullptr) +
         table_by(
             {"table", "GPU", "format"}, all,
             [](const EndToEndResult& r) {
               const std::size_t first = r.label.detail.find(", ") + 2;
               return Words{r.label.source, r.label.gpu,
                            r.label.detail.substr(first, r.label.detail.find(", ", first) - first)};
             },
             "all");
}

}  // namespace

std::string training_report(const Results& results) {
  return mosaic_report(of_source(results, "mosaic")) + megatron_report(of_source(results, "megatron")) +
         ultrascale_report(of_source(results, "ultrascale")) +
         vendor_report(of_source(results, "bridge"), of_source(results, "nemo")) +
         mlperf_report(of_source(results, "mlperf")) + own_training_report(of_source(results, "h200-training"));
}

}  // namespace tilecast
