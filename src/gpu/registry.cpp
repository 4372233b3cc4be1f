#include "gpu/registry.h"

#include <algorithm>
#include <cassert>

#include "gpu/embedded_gpus.h"
#include "gpu/gpu_file.h"
#include "support/file.h"
#include "support/json.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::size_t kMostFileBytes = 1 << 26;  // a description is about 4 KB, a calibration some megabytes

Result<std::string> no_like(std::string_view) { return error("built-in descriptions must be complete"); }

std::vector<Gpu> parse_built_in() {
  std::vector<Gpu> gpus;
  for (const EmbeddedFile& file : embedded_gpu_files()) {
    auto gpu = parse_gpu(file.text, "data/gpus/" + std::string(file.name), no_like);
    assert(gpu.ok() && "a built-in GPU description is broken; gpu_data_test names it");
    if (!gpu) continue;
    gpu->built_in = true;
    gpus.push_back(*std::move(gpu));
  }
  std::sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) {
    return std::tie(a.vendor, a.architecture, a.name) < std::tie(b.vendor, b.architecture, b.name);
  });
  return gpus;
}

bool answers_to(const Gpu& gpu, const std::string& key) {
  return name_key(gpu.name) == key ||
         std::any_of(gpu.aliases.begin(), gpu.aliases.end(), [&](auto& alias) { return name_key(alias) == key; });
}

}  // namespace

const std::vector<Gpu>& built_in_gpus() {
  static const std::vector<Gpu> gpus = parse_built_in();
  return gpus;
}

const Gpu* built_in_gpu(std::string_view name) {
  for (const Gpu& gpu : built_in_gpus())
    if (gpu.name == name) return &gpu;
  return nullptr;
}

Result<Gpu> find_gpu(std::string_view name) {
  const std::string key = name_key(name);
  for (const Gpu& gpu : built_in_gpus())
    if (answers_to(gpu, key)) return gpu;
  if (name.find(',') != std::string_view::npos)
    return Error{"", "", "'" + std::string(name) + "' is more than one GPU", "name one"};
  std::vector<std::string> names, aliases;
  for (const Gpu& gpu : built_in_gpus()) {
    names.push_back(gpu.name);
    aliases.insert(aliases.end(), gpu.aliases.begin(), gpu.aliases.end());
  }
  const std::string otherwise =
      suggestion(name, aliases, "`tilecast gpus` lists the known ones; a description file ends in .json");
  return Error{"", "", "unknown GPU '" + std::string(name) + "'", suggestion(name, names, otherwise)};
}

Result<std::string> built_in_gpu_text(std::string_view name) {
  auto gpu = find_gpu(name);
  if (!gpu) return std::move(gpu).error();
  for (const EmbeddedFile& file : embedded_gpu_files())
    if (name_key(file.name) == name_key(gpu->name + ".json")) return std::string(file.text);
  return error("GPU '" + gpu->name + "' has no embedded file of its name");
}

Result<Gpu> load_gpu(const std::string& name_or_path) {
  if (is_object_text(name_or_path)) return parse_gpu(name_or_path, "GPU description", built_in_gpu_text);
  const bool is_path =
      name_or_path == "-" || name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json");
  if (!is_path) return find_gpu(name_or_path);
  auto text = read_text_file(name_or_path, kMostFileBytes);
  if (!text) return std::move(text).error();
  return parse_gpu(*text, name_or_path, built_in_gpu_text);
}

}  // namespace tilecast
