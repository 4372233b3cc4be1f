#include "answers/question_forms.h"

#include <algorithm>

namespace tilecast {

bool QuestionForm::takes_several(std::string_view argument) const {
  return std::find(several.begin(), several.end(), argument) != several.end();
}

const QuestionForm* question_form(std::string_view name) {
  for (const QuestionForm& form : question_forms())
    if (form.name == name) return &form;
  return nullptr;
}

const Argument* QuestionForm::argument(std::string_view name) const {
  for (const Argument& about : arguments) {
    const auto& others = about.aliases;
    if (about.name == name || std::find(others.begin(), others.end(), name) != others.end()) return &about;
  }
  return nullptr;
}

Naming naming_of(std::string_view question, std::string_view argument) {
  const QuestionForm* form = question_form(question);
  const Argument* about = form ? form->argument(argument) : nullptr;
  if (!about) return Naming::nothing;
  switch (about->touches) {
    case Touches::gpu: return Naming::gpu;
    case Touches::gpus: return Naming::gpus;
    case Touches::cluster: return Naming::cluster;
    case Touches::model: return Naming::model;
    case Touches::file: return Naming::input;
    case Touches::output: return Naming::output;
    case Touches::nothing:
    case Touches::counts:
    case Touches::prices:
    case Touches::command: break;
  }
  return Naming::nothing;
}

}  // namespace tilecast
