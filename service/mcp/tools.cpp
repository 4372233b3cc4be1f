#include "service/mcp/tools.h"

#include <array>

#include "service/schema/argument_schema.h"

namespace tilecast {
namespace {

struct Tool {
  std::string_view name, question, title;
};
constexpr std::array<Tool, 11> kTools = {{
    {"gpus", "gpus", "Known GPUs"},
    {"models", "models", "Known models, or one model"},
    {"clusters", "clusters", "Known clusters"},
    {"kernel", "kernel", "Time of one GPU kernel"},
    {"predict", "predict", "Time of a model's step"},
    {"memory", "memory", "Memory that a model needs"},
    {"collective", "collective", "Time of a collective"},
    {"simulate", "simulate", "Serving under load"},
    {"plan_serve", "plan serve", "Best way to serve a model"},
    {"plan_train", "plan train", "Best way to train a model"},
    {"diagnose", "diagnose", "Where a trace's time goes"},
}};

std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

Json tool_json(const Tool& tool, bool paths) {
  const QuestionForm& form = *question_form(tool.question);
  Json schema = standalone_schema(form, {.refs = kInDefs, .paths = paths, .brief = true});
  schema.erase("description");
  std::string description =
      sentence(form.summary) + " Times are microseconds, amounts bytes, unless a name says otherwise.";
  if (!form.examples.empty()) description += " Example of the same as a command: tilecast " + form.examples.front();
  return Json{{"name", tool.name},
              {"title", tool.title},
              {"description", description},
              {"inputSchema", schema},
              // Nothing outside is read or changed, and the same question has the same answer.
              {"annotations", Json{{"readOnlyHint", true}, {"idempotentHint", true}, {"openWorldHint", false}}}};
}

}  // namespace

const QuestionForm* tool_question(std::string_view name) {
  for (const Tool& tool : kTools)
    if (tool.name == name) return question_form(tool.question);
  return nullptr;
}

Json tool_list(bool paths) {
  Json list = Json::array();
  for (const Tool& tool : kTools) list.push_back(tool_json(tool, paths));
  return list;
}

}  // namespace tilecast
