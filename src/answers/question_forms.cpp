#include "answers/question_forms.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tilecast {

bool QuestionForm::takes_several(std::string_view argument) const {
  return std::find(several.begin(), several.end(), argument) != several.end();
}

const QuestionForm* question_form(std::string_view name) {
  for (const QuestionForm& form : question_forms())
    if (form.name == name) return &form;
  return nullptr;
}

Naming naming_of(std::string_view question, std::string_view argument) {
  if (argument == "output") return question == "retime" ? Naming::output : Naming::nothing;  // elsewhere tokens
  if (argument == "name") return question == "gpu" ? Naming::gpu : Naming::nothing;
  constexpr std::array<std::pair<std::string_view, Naming>, 12> kNames = {{
      {"gpu", Naming::gpu},
      {"from", Naming::gpu},
      {"gpus", Naming::gpus},
      {"cluster", Naming::cluster},
      {"from-cluster", Naming::cluster},
      {"model", Naming::model},
      {"draft-model", Naming::model},
      {"weights", Naming::input},
      {"trace", Naming::input},
      {"data", Naming::input},
      {"judge", Naming::input},
      {"out", Naming::output},
  }};
  for (const auto& [name, naming] : kNames)
    if (name == argument) return naming;
  return Naming::nothing;
}

}  // namespace tilecast
