#include "cli/commands/tune_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "answers/documents.h"
#include "cli/views/tune_view.h"
#include "support/file.h"

namespace tilecast {
namespace {

// Writes the picks where the engines look; the paths.
Result<std::vector<std::string>> write_files(const TuneOptions& o, const MoeTuning& tuning) {
  const auto files = engine_files(o.moe, tuning, o.files);
  if (!files) return files.error();
  std::vector<std::string> paths;
  for (const EngineFile& file : *files) {
    const std::filesystem::path path = std::filesystem::path(o.out) / file.path;
    std::error_code failed;
    std::filesystem::create_directories(path.parent_path(), failed);
    if (failed) return Error{path.parent_path().string(), "", "cannot be made", failed.message()};
    paths.push_back(o.out + "/" + file.path);
    if (const Status written = write_text_file(paths.back(), file.text); !written) return written.error();
  }
  return paths;
}

std::string where_to_put(const TuneOptions& o, const std::vector<std::string>& paths) {
  if (paths.empty()) return "-o DIR writes the picks as the files that vLLM and SGLang load.\n";
  return fmt::format(
      "vLLM:   {}\n        export VLLM_TUNED_CONFIG_FOLDER={}\nSGLang: {}\n        export "
      "SGLANG_MOE_CONFIG_DIR={}\n",
      paths[0], o.out, paths[1], o.out);
}

}  // namespace

Result<std::string> run_tune_fused_moe(const TuneOptions& o) {
  if (o.out.empty() && (!o.files.device_name.empty() || o.files.triton != EngineFilesQuery{}.triton))
    return field_error(o.files.device_name.empty() ? "triton" : "device-name", "has no effect without --output",
                       "it names the files: give -o too, or leave it out");
  Measuring measuring = o.measuring;
  measuring.progress = [](const Measuring::Progress& p) {
    std::fprintf(stderr, "measuring %zu of %zu: %lld tokens\n", p.done + 1, p.all, static_cast<long long>(p.tokens));
  };
  const auto tuning = tune(o.moe, measuring);
  if (!tuning) return tuning.error();
  std::vector<std::string> paths;
  if (!o.out.empty()) {
    auto written = write_files(o, *tuning);
    if (!written) return std::move(written).error();
    paths = *std::move(written);
  }
  if (o.json) return moe_tuning_json(*tuning, paths);
  return moe_tuning_text(*tuning, !o.measuring.command.empty()) + where_to_put(o, paths);
}

Result<std::string> run_tune_gemm(const TuneOptions& o) {
  Measuring measuring = o.measuring;
  measuring.progress = [](const Measuring::Progress& p) {
    std::fprintf(stderr, "measuring %lld configurations\n", static_cast<long long>(p.configurations));
  };
  const auto tuning = tune(o.gemm, measuring);
  if (!tuning) return tuning.error();
  return o.json ? gemm_tuning_json(*tuning) : gemm_tuning_text(*tuning, !o.measuring.command.empty());
}

}  // namespace tilecast
