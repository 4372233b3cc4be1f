// The questions for programs (docs/json.md).
#include <array>
#include <cmath>

#include "answers/ask.h"
#include "answers/question_forms.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

std::string_view kind_name(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::yes_no: return "yes_no";
    case ArgumentKind::count: return "count";
    case ArgumentKind::number: return "number";
    case ArgumentKind::size: return "size";
    case ArgumentKind::text: return "text";
    case ArgumentKind::choice: return "choice";
    case ArgumentKind::list: return "list";
    case ArgumentKind::counts: return "counts";
  }
  return "";
}

std::string_view naming_name(Naming naming) {
  constexpr std::array<std::string_view, 7> kNames = {"", "gpu", "gpus", "cluster", "model", "input", "output"};
  return kNames[static_cast<std::size_t>(naming)];
}

Json scopes_json(const std::vector<Scope>& scopes) {
  Json list = Json::array();
  for (const Scope& scope : scopes) list.push_back(Json{{"argument", scope.argument}, {"values", scope.values}});
  return list;
}

Json argument_json(const Argument& about, Naming naming = Naming::nothing, bool several = false) {
  const auto bound = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return Json{{"name", about.name},
              {"kind", kind_name(about.kind)},
              {"help", about.help},
              {"unit", about.unit},
              {"example", about.example},
              {"default", about.fallback},
              {"least", bound(about.least)},
              {"most", bound(about.most)},
              {"choices", about.choices},
              {"aliases", about.aliases},
              {"required", about.required},
              {"several", several},
              {"names", naming_name(naming)},
              {"group", about.group},
              {"scopes", scopes_json(about.scopes)}};
}

Json arguments_json(const std::vector<Argument>& arguments) {
  Json list = Json::array();
  for (const Argument& about : arguments) list.push_back(argument_json(about));
  return list;
}

}  // namespace

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
