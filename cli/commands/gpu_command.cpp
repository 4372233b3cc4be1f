#include "cli/commands/gpu_command.h"

#include "answers/documents.h"
#include "cli/views/gpu_view.h"

namespace tilecast {

Result<std::string> run_gpus(const GpuOptions& options) {
  return options.json ? gpus_json(known_gpus()) : gpus_table(known_gpus());
}

Result<std::string> run_gpu_show(const GpuOptions& options) {
  const auto gpu = describe_gpu(options.query);
  if (!gpu) return gpu.error();
  return options.json ? gpu_json(*gpu) : gpu_text(*gpu);
}

Result<std::string> run_gpu_constants(const GpuOptions& options) {
  const auto constants = gpu_constants(options.query);
  if (!constants) return constants.error();
  return options.json ? constants_json(*constants) : constants_table(*constants);
}

Result<std::string> run_gpu_check(const GpuOptions& options) {
  // A file, whatever it is called: a name without a slash could be taken for a card's.
  const bool could_be_name = options.file != "-" && options.file.find('/') == std::string::npos;
  const auto gpu = describe_gpu({.name = could_be_name ? "./" + options.file : options.file});
  if (!gpu) return gpu.error();
  return options.file + ": " + gpu_line(*gpu);
}

}  // namespace tilecast
