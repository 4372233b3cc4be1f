// The report of nanotron's scaling runs: tokens a second, memory, and what is said to fit.
#include <fmt/format.h>

#include <algorithm>

#include "lab/evidence/endtoend_report_parts.h"

namespace tilecast {
namespace {

// "16 nodes, tp 8, pp 2, zero 1, micro-batch 4": the number behind a word, right-aligned so that tables sort.
std::string number_behind(const EndToEndResult& r, const std::string& word) {
  const std::string& text = r.label.detail;
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return "";
  const std::size_t from = at + word.size();
  return fmt::format("{:>3}", text.substr(from, text.find(',', from) - from));
}
std::string nodes_of(const EndToEndResult& r) {
  return fmt::format("{:>3}", r.label.detail.substr(0, r.label.detail.find(' ')));
}

// The choices were made on the two smaller models.
std::string half_by_model(const EndToEndResult& r) { return r.label.model == "8B" ? "judged" : "chosen on"; }

std::string tables_of(const Results& rows) {
  const auto by = [&](const char* title, const auto& word) {
    return table_by(
        {"rows", title}, rows,
        [&](const EndToEndResult& r) {
          return Words{half_by_model(r), word(r)};
        },
        nullptr);
  };
  return table_by(
             {"rows", "model"}, rows,
             [](const EndToEndResult& r) {
               return Words{half_by_model(r), r.label.model};
             },
             "all") +
         by("nodes", nodes_of) +
         by("tensor parallel", [](const EndToEndResult& r) { return number_behind(r, "tp "); }) +
         by("pipeline", [](const EndToEndResult& r) { return number_behind(r, "pp "); }) +
         by("ZeRO", [](const EndToEndResult& r) { return number_behind(r, "zero "); });
}

std::string share_of(const Results& rows, bool fits) {
  const auto said = std::count_if(rows.begin(), rows.end(), [&](const EndToEndResult& r) { return r.fits == fits; });
  return fmt::format("{} of {} ({:.1f} %)", said, rows.size(),
                     rows.empty() ? 0.0 : 100.0 * static_cast<double>(said) / static_cast<double>(rows.size()));
}

}  // namespace

std::string ultrascale_report(const Results& all) {
  if (all.empty()) return {};
  Results times, memory, failed;
  for (const EndToEndResult& r : all)
    (r.quantity == "throughput" ? times : r.quantity == "memory" ? memory : failed).push_back(r);
  return "### Every layout on 8 to 512 GPUs: nanotron's scaling runs\n\n"
         "Llama-like models of 1, 3 and 8 billion parameters, 256 sequences of 4,096 tokens a step, as the recipe "
         "`nanotron` has it (docs/parallel.md), over the fabric `huggingface-h100` (docs/clusters.md), which was set "
         "to the "
         "cluster's own benchmark of collectives and to none of these runs. `predict --framework nanotron` knows "
         "nothing of "
         "this cluster's waits, which belong to this evaluation. Chosen on 1B and 3B, judged on 8B: in the recipe, "
         "kernels take 1.11 times those counted (not explained: nanotron's permutations before "
         "attention and the passes of its loss take about what the recipe's rotations and loss take, in bytes); here, "
         "an "
         "addition takes the host 18 us; a "
         "collective of tensor parallel ranks waits 210 us for each of them while messages between stages cross nodes, "
         "50 us where the ranks themselves do; runs of several stages on 64 nodes, or with 32 tensor parallel ranks, "
         "stand still for 267 ms at every message between stages. So does a fifth of the others, which nothing in the "
         "table tells apart, and which make the means what they are. Tokens a second:\n\n" +
         tables_of(times) + "Peak memory, as the first rank's allocator holds it:\n\n" + tables_of(memory) +
         fmt::format(
             "Finished runs said to fit: {}. Failed ones said not to fit: {}; their status mixes running out of memory "
             "with other crashes.\n\n",
             share_of(memory, true), share_of(failed, false));
}

}  // namespace tilecast
