#include "service/schema/argument_schema.h"

#include <cmath>

#include "answers/answer_files.h"
#include "answers/ranges.h"
#include "support/amount.h"
#include "support/text.h"
#include "tilecast/kernel.h"

namespace tilecast {
namespace {

// "Only with mode prefill or train."
std::string scope_words(const Scope& scope) {
  if (scope.values.empty()) return "Only with " + scope.argument + ".";
  std::vector<std::string> values;
  bool absent = false;
  for (const std::string& value : scope.values)
    if (value.empty()) absent = true;
    else values.push_back(value);
  std::string words = values.empty() ? "" : "with " + scope.argument + " " + join_or(values);
  if (absent) words += std::string(words.empty() ? "" : " or ") + "without " + scope.argument;
  return "Only " + words + ".";
}

std::string description_of(const Argument& about) {
  std::string text = about.help;
  if (!about.unit.empty()) text += " [" + about.unit + "]";
  text += ".";
  for (const Scope& scope : about.scopes) text += " " + scope_words(scope);
  return text;
}

// A value as JSON has it, of a text as flags take it.
Json value_of(const Argument& about, const std::string& text) {
  switch (about.kind) {
    case ArgumentKind::yes_no: return text == "yes";
    case ArgumentKind::count:
      if (const auto whole = whole_amount_from(text)) return *whole;
      return text;
    case ArgumentKind::number:
      if (const auto number = amount_from(text)) return *number;
      return text;
    case ArgumentKind::list:
    case ArgumentKind::counts: return Json(split(text, ','));
    case ArgumentKind::size:
    case ArgumentKind::text:
    case ArgumentKind::choice: break;
  }
  return text;
}

void add_range(Json& schema, const Argument& about) {
  const auto bound = [](double value) {
    return value == std::floor(value) && std::abs(value) < 1e18 ? Json(static_cast<std::int64_t>(value)) : Json(value);
  };
  if (std::isfinite(about.least)) schema["minimum"] = bound(about.least);
  if (std::isfinite(about.most)) schema["maximum"] = bound(about.most);
}

// A list of numbers may stand where one is taken: the question is asked for each (answers/sweep.h).
void add_ranges(Json& schema) {
  Json one = schema;
  schema["type"].push_back("array");
  schema["items"] = std::move(one);
  schema["x-ranges"] = true;
}

// Amounts may be texts as on the command line: "800k", "64MiB".
Json plain_schema(const Argument& about) {
  Json schema = Json::object();
  switch (about.kind) {
    case ArgumentKind::yes_no: schema["type"] = "boolean"; break;
    case ArgumentKind::count: schema["type"] = {"integer", "string"}, add_range(schema, about); break;
    case ArgumentKind::number: schema["type"] = {"number", "string"}, add_range(schema, about); break;
    case ArgumentKind::size: schema["type"] = {"integer", "string"}; break;
    case ArgumentKind::text: schema["type"] = {"string", "number"}; break;
    case ArgumentKind::choice: schema["type"] = "string", schema["enum"] = about.choices; break;
    case ArgumentKind::list:
      schema["type"] = {"array", "string", "number"};
      schema["items"] = Json{{"type", Json{"string", "number"}}};
      if (!about.choices.empty()) schema["items"] = Json{{"type", "string"}, {"enum", about.choices}};
      break;
    case ArgumentKind::counts:
      schema["type"] = {"array", "integer", "string"};
      schema["items"] = Json{{"type", Json{"integer", "string"}}};
      add_range(schema["items"], about);
      break;
  }
  return schema;
}

Json reference(const SchemaForm& as, const char* name) { return Json{{"$ref", as.refs + name}}; }

// One value of the argument.
Json value_schema(const Argument& about, Naming naming, const SchemaForm& as) {
  const Json name{{"type", "string"}};
  switch (naming) {
    case Naming::gpu: return Json{{"anyOf", Json{name, reference(as, "GpuDescription")}}};
    case Naming::cluster: return Json{{"anyOf", Json{name, reference(as, "ClusterDescription")}}};
    case Naming::model: return Json{{"anyOf", Json{name, reference(as, "ModelDescription"), reference(as, "File")}}};
    case Naming::input: {
      Json file = reference(as, "File");
      if (as.paths) file = Json{{"anyOf", Json{file, name}}};
      if (about.kind != ArgumentKind::list) return file;
      return Json{{"anyOf", Json{file, Json{{"type", "array"}, {"items", file}, {"minItems", 1}}}}};
    }
    case Naming::nothing:
    case Naming::gpus:
    case Naming::output: break;
  }
  Json schema = plain_schema(about);
  if (as.ranges && takes_range(about)) add_ranges(schema);
  return schema;
}

Json argument_schema(const Argument& about, Naming naming, bool several, const SchemaForm& as) {
  const Json one = value_schema(about, naming, as);
  Json schema = one;
  if (several) schema = Json{{"anyOf", Json{one, Json{{"type", "array"}, {"items", one}, {"minItems", 1}}}}};
  schema["description"] = description_of(about) + (several ? " A list asks once for each." : "");
  if (!about.unit.empty() && !as.brief) schema["x-unit"] = about.unit;
  if (!about.group.empty() && !as.brief) schema["x-group"] = about.group;
  const bool file = naming == Naming::input;
  if (!about.fallback.empty() && !file) schema["default"] = value_of(about, about.fallback);
  if (!about.example.empty() && !file)
    schema["examples"] = Json::array(), schema["examples"].push_back(value_of(about, about.example));
  return schema;
}

std::string underscored(std::string name) {
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

// "gemm(m, n, k)": what it needs.
std::string family_line(const KernelFamily& family) {
  std::vector<std::string> needed;
  for (const Argument& dim : family.dims)
    if (dim.required) needed.push_back(underscored(dim.name));
  return family.name + "(" + join(needed, ", ") + ")";
}

// The same without saying which family takes which dimension but in words.
void add_families_briefly(Json& schema) {
  Json names = Json::array();
  std::vector<std::string> lines;
  Json& properties = schema["properties"];
  for (const KernelFamily& family : kernel_families()) {
    names.push_back(family.name);
    lines.push_back(family_line(family));
    for (const Argument& dim : family.dims) {
      Json& anywhere = properties[underscored(dim.name)];
      if (anywhere.is_null()) anywhere = Json{{"description", dim.help + (dim.required ? "" : " (optional)")}};
    }
  }
  properties["family"] =
      Json{{"type", "string"},
           {"enum", names},
           {"description", "The kind of kernel, with the dimensions it needs: " + join(lines, "; ")}};
}

// Dimensions mean different things in different families: what a family takes stands behind an "if".
void add_families(Json& schema, const SchemaForm& as) {
  Json names = Json::array(), cases = Json::array();
  Json& properties = schema["properties"];
  for (const KernelFamily& family : kernel_families()) {
    names.push_back(family.name);
    Json dims = Json::object(), needed = Json::array();
    for (const Argument& dim : family.dims) {
      dims[underscored(dim.name)] = argument_schema(dim, Naming::nothing, false, as);
      if (dim.required) needed.push_back(underscored(dim.name));
      Json& anywhere = properties[underscored(dim.name)];
      const bool first = anywhere.is_null();
      if (first) anywhere = Json{{"description", "A dimension of " + family.name}};
      else anywhere["x-also"].push_back(family.name);
    }
    cases.push_back(Json{
        {"if", Json{{"properties", Json{{"family", Json{{"const", family.name}}}}}}},
        {"then",
         Json{{"title", family.name}, {"description", family.summary}, {"properties", dims}, {"required", needed}}}});
  }
  properties["family"] = Json{{"type", "string"}, {"enum", names}, {"description", "The kind of kernel."}};
  schema["allOf"] = cases;
}

}  // namespace

Json question_schema(const QuestionForm& form, const SchemaForm& given) {
  SchemaForm as = given;
  as.ranges = form.sweeps && !given.brief;
  Json schema{{"type", "object"}, {"description", form.summary}};
  Json& properties = schema["properties"] = Json::object();
  Json needed = Json::array();
  if (form.name == "kernel") needed.push_back("family"), properties["family"] = Json();
  for (const Argument& about : form.arguments) {
    const Naming naming = naming_of(form.name, about.name);
    if (naming == Naming::output) continue;  // what would be written comes in the answer
    const Json one = argument_schema(about, naming, form.takes_several(about.name), as);
    properties[underscored(about.name)] = one;
    for (const std::string& alias : about.aliases) {
      Json& other = properties[underscored(alias)] = one;
      other["description"] = "Another name of " + underscored(about.name) + ".";
    }
    if (about.required) needed.push_back(underscored(about.name));
  }
  if (form.name == "kernel" && as.brief) add_families_briefly(schema);
  else if (form.name == "kernel") add_families(schema, as);
  if (const std::string_view files = files_of(form.name); !files.empty() && !as.brief) {
    Json& wish = properties["files"] = Json{{"type", "boolean"},
                                            {"description",
                                             "Whether the answer also holds what the command line would write, as "
                                             "`files`: " +
                                                 std::string(files) + "."}};
    if (form.name == "predict") wish.erase("type"), wish["enum"] = Json{true, false, "chakra"};
  }
  if (!needed.empty()) schema["required"] = needed;
  schema["additionalProperties"] = false;
  return schema;
}

Json shared_schemas() {
  const auto description = [](const char* text) { return Json{{"type", "object"}, {"description", text}}; };
  Json all = Json::object();
  all["File"] = Json{
      {"type", "object"},
      {"description", "A file by value."},
      {"properties",
       Json{{"name",
             Json{{"type", "string"}, {"description", "Its name, whose ending may tell its form: trace.json.gz."}}},
            {"base64", Json{{"type", "string"}, {"contentEncoding", "base64"}, {"description", "Its bytes."}}}}},
      {"required", Json{"name", "base64"}},
      {"additionalProperties", false}};
  all["AnswerFile"] = Json{
      {"type", "object"},
      {"description", "What the command line would write to a file of this name: its text, or its bytes in base64."},
      {"properties", Json{{"name", Json{{"type", "string"}}},
                          {"media_type", Json{{"type", "string"}}},
                          {"text", Json{{"type", "string"}}},
                          {"base64", Json{{"type", "string"}, {"contentEncoding", "base64"}}}}},
      {"required", Json{"name", "media_type"}},
      {"additionalProperties", false}};
  all["GpuDescription"] = description(
      "A GPU's description (docs/gpu-files.md): that of a known one, as GET /v1/gpus/{name} gives it, with fields "
      "changed, or one of your own.");
  all["ClusterDescription"] = description("A cluster's description (docs/clusters.md).");
  all["ModelDescription"] = description("A Hugging Face config.json, or a graph of operators (docs/graphs.md).");
  return all;
}

Json standalone_schema(const QuestionForm& form, const SchemaForm& as) {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
  schema.update(question_schema(form, as));
  const std::string text = schema.dump();
  const Json all = shared_schemas();
  Json used = Json::object();
  for (const char* name : {"File", "GpuDescription", "ClusterDescription", "ModelDescription"})
    if (contains(text, std::string(kInDefs) + name + '"')) used[name] = Json(all)[name];
  if (!used.empty()) schema["$defs"] = used;
  return schema;
}

}  // namespace tilecast
