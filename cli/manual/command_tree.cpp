#include "cli/manual/command_tree.h"

#include <algorithm>

#include "tilecast/collective.h"
#include "tilecast/gpu.h"
#include "tilecast/model.h"

namespace tilecast {
namespace {

template <class Infos>
std::vector<std::string> names_in(const Infos& infos) {
  std::vector<std::string> names;
  names.reserve(std::size(infos));
  for (const auto& info : infos) names.push_back(info.name);
  return names;
}

}  // namespace

std::vector<std::string> known_values(const CommandOption& option) {
  if (!option.choices.empty()) return option.choices;
  switch (option.naming) {
    case Naming::gpu:
    case Naming::gpus: return names_in(known_gpus());
    case Naming::cluster: return names_in(known_clusters());
    case Naming::model: return names_in(known_models());
    case Naming::nothing:
    case Naming::input:
    case Naming::output: break;
  }
  return {};
}

bool takes_file(const CommandOption& option) {
  return option.naming != Naming::nothing && option.naming != Naming::gpus;
}

}  // namespace tilecast
