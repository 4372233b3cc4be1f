// What of a plan's files has to be filled in before they start anything: names that no table holds. Such a name begins
// with NAME-; whoever knows the right one replaces it in all files of the folder.
#pragma once

#include <string>
#include <vector>

#include "serve/launch_command.h"

namespace tilecast {

struct LaunchBlank {
  std::string name;        // as it stands in the files
  std::string what;        // "a checkpoint of Llama-3.1-8B in fp8"
  bool of_image = false;   // stands in containers and pods alone, not where an engine is installed
  bool of_client = false;  // whoever sends requests has to name it too
};

// In the order of the pools, each once.
std::vector<LaunchBlank> launch_blanks(const std::vector<LaunchOptions>& pools);

// A head that somebody trained for the model; no table says whose.
inline constexpr std::string_view kNameAnEagleHead = "NAME-AN-EAGLE3-HEAD-OF-THE-MODEL";
inline constexpr std::string_view kNameAnImage = "NAME-A-ROCM-IMAGE-OF-THE-RELEASE";

// Shell lines that stop with what to do where one of these still stands in the script: replaced there like anywhere
// else, the guard itself lets the script go on. Empty where there is none.
std::string blanks_guard(const std::vector<LaunchBlank>& blanks);
// The same as comments of YAML.
std::string blanks_comment(const std::vector<LaunchBlank>& blanks);

}  // namespace tilecast
