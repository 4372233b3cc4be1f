#include "answers/argument_json.h"

#include "answers/ranges.h"

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

Json argument_json(const Argument& about) {
  return Json{{"name", about.name},       {"kind", kind_name(about.kind)},
              {"help", about.help},       {"unit", about.unit},
              {"example", about.example}, {"default", about.fallback},
              {"choices", about.choices}, {"aliases", about.aliases},
              {"required", about.required}, {"ranges", takes_range(about)}};
}

}  // namespace

Json arguments_json(const std::vector<Argument>& arguments) {
  Json list = Json::array();
  for (const Argument& about : arguments) list.push_back(argument_json(about));
  return list;
}

}  // namespace tilecast
