// The questions for programs (docs/json.md).
#include "answers/argument_json.h"
#include "answers/ask.h"
#include "answers/question_forms.h"

namespace tilecast {

std::string questions_json() {
  Json list = Json::array();
  for (const QuestionForm& one : question_forms()) {
    Json arguments = Json::array();
    for (const Argument& about : one.arguments)
      arguments.push_back(argument_json(about, naming_of(one.name, about.name), one.takes_several(about.name)));
    Json json{{"name", one.name}, {"summary", one.summary}, {"examples", one.examples}, {"arguments", arguments}};
    if (one.name == "kernel")
      for (const KernelFamily& family : kernel_families())
        json["families"].push_back(Json{{"name", family.name},
                                        {"summary", family.summary},
                                        {"example", family.example},
                                        {"dims", arguments_json(family.dims)}});
    list.push_back(std::move(json));
  }
  return list.dump(2) + "\n";
}

}  // namespace tilecast
