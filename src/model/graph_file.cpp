#include "model/graph_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "model/role_names.h"
#include "model/spec.h"
#include "support/file.h"
#include "support/json.h"
#include "support/text.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr Count kMostRepeats = 1 << 20;
// No memory holds more; keeps every sum within a Count.

constexpr std::array<std::string_view, 5> kTensorKinds = {"activation", "index", "logits", "mask", "statistic"};
constexpr std::array<std::string_view, 3> kPasses = {"forward", "backward", "optimizer"};
constexpr std::array<std::string_view, 9> kSpellings = {
    "plain", "gelu_new", "masked_where", "masked_add", "clamped", "unscaled", "fused_loss", "in_place_loss", "dropout"};

// An object of the file. The first error is kept, with the path to where it is; later reads change nothing.
class Reader {
 public:
  Reader(const Json& object, std::string path, std::optional<Error>& failure)
      : object_(object), path_(std::move(path)), failure_(failure) {
    if (!object.is_object()) fail("", "must be an object");
  }

  void fail(const std::string& field, std::string problem, std::string remedy = {}) {
    if (!failure_) failure_ = Error{"", at(field), std::move(problem), std::move(remedy)};
  }
  bool failed() const { return failure_.has_value(); }
  // A reader of the object under this field.
  Reader inside(const std::string& field) const { return Reader(object_[field], at(field), failure_); }
  std::string at(const std::string& field) const {
    return path_.empty() ? field : field.empty() ? path_ : path_ + "." + field;
  }
  const Json* find(const std::string& field) const {
    return object_.is_object() && object_.contains(field) ? &object_[field] : nullptr;
  }
  void refuse_other_than(const std::vector<std::string>& fields) {
    if (!object_.is_object()) return;
    for (const auto& [key, value] : object_.items())
      if (std::find(fields.begin(), fields.end(), key) == fields.end())
        return fail(key, "unknown field", suggestion(key, fields, "known here: " + join(fields, ", ")));
  }
  std::string text(const std::string& field) {
    const Json* value = find(field);
    if (!value) return fail(field, "is missing", "see docs/graphs.md"), std::string();
    if (!value->is_string() || value->get<std::string>().empty()) return fail(field, "must be a text"), std::string();
    return value->get<std::string>();
  }
  Count count(const std::string& field, Count least, Count most, std::optional<Count> otherwise = {}) {
    const Json* value = find(field);
    if (!value && otherwise) return *otherwise;
    if (!value) return fail(field, "is missing", "see docs/graphs.md"), least;
    const bool fits = value->is_number_unsigned() && value->get<std::uint64_t>() <= static_cast<std::uint64_t>(most) &&
                      value->get<std::uint64_t>() >= static_cast<std::uint64_t>(least);
    if (!fits) return fail(field, fmt::format("must be a whole number between {} and {}", least, most)), least;
    return value->get<Count>();
  }
  bool flag(const std::string& field) {
    const Json* value = find(field);
    if (value && !value->is_boolean()) fail(field, "must be true or false");
    return value && value->is_boolean() && value->get<bool>();
  }
  template <class E, std::size_t n>
  E choice(const std::string& field, const std::array<std::string_view, n>& names) {
    if (!find(field)) return E{};
    const std::string given = text(field);
    const auto found = std::find(names.begin(), names.end(), given);
    if (found == names.end())
      fail(field, fmt::format("unknown choice '{}'", given), "one of " + join({names.begin(), names.end()}, ", "));
    return found == names.end() ? E{} : static_cast<E>(found - names.begin());
  }
  // Calls `use(reader)` for every object of a list.
  template <class Use>
  void each(const std::string& field, Use&& use) {
    const Json* list = find(field);
    if (!list) return;
    if (!list->is_array()) return fail(field, "must be a list");
    for (std::size_t i = 0; i < list->size() && !failed(); ++i) {
      Reader item((*list)[i], fmt::format("{}[{}]", at(field), i), failure_);
      if (!failed()) use(item);
    }
  }

 private:
  const Json& object_;
  std::string path_;
  std::optional<Error>& failure_;
};

// A dimension as `tilecast kernel` would be given it.
std::optional<std::string> dim_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_number_integer()) return value.dump();
  if (value.is_number()) return fmt::format("{}", value.get<double>());
  if (!value.is_array()) return std::nullopt;
  std::vector<std::string> parts;
  for (const Json& item : value) {
    if (!item.is_number_integer()) return std::nullopt;
    parts.push_back(item.dump());
  }
  return join(parts, ",");
}

std::optional<Shape> read_shape(Reader& read) {
  const std::string family = read.text("kernel");
  const Json* given = read.find("dims");
  if (read.failed()) return std::nullopt;
  if (!given || !given->is_object()) return read.fail("dims", "must be an object of dimensions"), std::nullopt;
  Dims dims;
  for (const auto& [key, value] : given->items()) {
    const auto text = dim_text(value);
    if (!text) return read.fail("dims." + key, "must be a number, a text, true, false or a list"), std::nullopt;
    dims.emplace_back(key, *text);
  }
  auto shape = shape_from(family, dims);
  if (shape) return *std::move(shape);
  const Error& e = shape.error();
  read.fail(e.field.empty() ? "kernel" : "dims." + e.field, e.problem, e.remedy);
  return std::nullopt;
}

OwnedWeights read_weights(Reader& read) {
  OwnedWeights weights;
  if (!read.find("weights")) return weights;
  Reader own = read.inside("weights");
  own.refuse_other_than({"matrix", "vector", "table", "tied"});
  weights.matrix = own.count("matrix", 0, kMostDimension, 0);
  weights.vector = own.count("vector", 0, kMostDimension, 0);
  weights.table = own.flag("table");
  weights.tied = own.flag("tied");
  return weights;
}

using TensorIds = std::map<std::string, int>;

std::vector<int> read_tensors(Reader& read, const std::string& field, const TensorIds& ids) {
  std::vector<int> list;
  const Json* names = read.find(field);
  if (!names) return list;
  if (!names->is_array()) return read.fail(field, "must be a list of tensors' names"), list;
  for (const Json& name : *names) {
    const auto found = name.is_string() ? ids.find(name.get<std::string>()) : ids.end();
    if (found == ids.end()) {
      std::vector<std::string> known;
      for (const auto& [key, id] : ids) known.push_back(key);
      const std::string given = name.is_string() ? name.get<std::string>() : name.dump();
      read.fail(field, fmt::format("'{}' is not a tensor of this section", given),
                suggestion(given, known, "list it under tensors"));
      return list;
    }
    list.push_back(found->second);
  }
  return list;
}

// Written at most once, and never read before.
void check_order(Reader& read, const Section& section) {
  std::vector<int> writer(section.tensors.size(), -1);
  for (std::size_t i = 0; i < section.operators.size(); ++i)
    for (const int t : section.operators[i].outputs) {
      int& by = writer[static_cast<std::size_t>(t)];
      const std::string field = fmt::format("operators[{}].writes", i),
                        &name = section.tensors[static_cast<std::size_t>(t)].name;
      if (by >= 0)
        return read.fail(field, fmt::format("'{}' is written by '{}' already", name,
                                            section.operators[static_cast<std::size_t>(by)].name));
      by = static_cast<int>(i);
    }
  for (std::size_t i = 0; i < section.operators.size(); ++i)
    for (const int t : section.operators[i].inputs) {
      const int by = writer[static_cast<std::size_t>(t)];
      if (by >= static_cast<int>(i))
        return read.fail(fmt::format("operators[{}].reads", i),
                         fmt::format("'{}' is written only by '{}', which does not come before",
                                     section.tensors[static_cast<std::size_t>(t)].name,
                                     section.operators[static_cast<std::size_t>(by)].name),
                         "put operators in the order they run");
    }
}

// Engines replace operators by what their code launches, and follow tensors from one to the next. A cache is written in
// place and a training step's update is of weights: those two may write, or read, no tensor of the section.
void check_tensors(Reader& read, const Operator& op) {
  const bool update = op.shape.is<Optimizer>();
  if (op.inputs.empty() && !update) read.fail("reads", "must name at least one tensor", "see docs/graphs.md");
  if (op.outputs.empty() && !update && !op.shape.is<KvWrite>())
    read.fail("writes", "must name at least one tensor", "see docs/graphs.md");
}

Operator read_operator(Reader& read, const TensorIds& ids) {
  Operator op;
  read.refuse_other_than({"name", "kernel", "dims", "reads", "writes", "weights", "spelling", "times", "unknown"});
  op.name = read.text("name");
  if (auto shape = read_shape(read)) op.shape = *std::move(shape);
  op.inputs = read_tensors(read, "reads", ids);
  op.outputs = read_tensors(read, "writes", ids);
  if (!read.failed()) check_tensors(read, op);
  op.weights = read_weights(read);
  op.spelling = read.choice<Spelling>("spelling", kSpellings);
  op.times = read.count("times", 1, kMostRepeats, 1);
  op.unknown = read.flag("unknown");
  return op;
}

Section read_section(Reader& read) {
  Section section;
  read.refuse_other_than({"name", "repeats", "pass", "tensors", "operators"});
  section.name = read.text("name");
  section.repeats = read.count("repeats", 1, kMostRepeats, 1);
  section.pass = read.choice<Pass>("pass", kPasses);
  TensorIds ids;
  read.each("tensors", [&](Reader& item) {
    item.refuse_other_than({"name", "elements", "kind"});
    Tensor tensor{item.text("name"), item.count("elements", 0, kMostDimension),
                  item.choice<TensorKind>("kind", kTensorKinds)};
    if (!ids.emplace(tensor.name, static_cast<int>(section.tensors.size())).second)
      item.fail("name", fmt::format("'{}' is taken by another tensor", tensor.name));
    section.tensors.push_back(std::move(tensor));
  });
  std::set<std::string> names;
  read.each("operators", [&](Reader& item) {
    section.operators.push_back(read_operator(item, ids));
    const std::string& name = section.operators.back().name;
    if (!names.insert(name).second) item.fail("name", fmt::format("'{}' is taken by another operator", name));
  });
  if (section.operators.empty()) read.fail("operators", "must be a list of at least one operator");
  if (!read.failed()) check_order(read, section);
  label_by_name(section);
  return section;
}

Status check_totals(const Graph& graph) {
  double parameters = 0;
  for (const Section& section : graph.sections)
    for (const Operator& op : section.operators)
      parameters += static_cast<double>(section.repeats) * static_cast<double>(op.weights.matrix + op.weights.vector);
  if (parameters > kMostParameters) return field_error("sections", "hold more than 10^15 weights", "check them");
  return Ok{};
}

// A number where the text is one.
OrderedJson dim_value(const std::string& text) {
  OrderedJson parsed = OrderedJson::parse(text, nullptr, false);
  return parsed.is_number() ? parsed : OrderedJson(text);
}

OrderedJson operator_json(const Operator& op, const Section& section) {
  const auto names = [&](const std::vector<int>& ids) {
    OrderedJson list = OrderedJson::array();
    for (const int id : ids) list.push_back(section.tensors[static_cast<std::size_t>(id)].name);
    return list;
  };
  OrderedJson json{{"name", op.name}, {"kernel", family_of(op.shape)}, {"dims", OrderedJson::object()}};
  for (const auto& [key, value] : dims_of(op.shape)) json["dims"][key] = dim_value(value);
  if (!op.inputs.empty()) json["reads"] = names(op.inputs);
  if (!op.outputs.empty()) json["writes"] = names(op.outputs);
  OrderedJson weights = OrderedJson::object();
  if (op.weights.matrix > 0) weights["matrix"] = op.weights.matrix;
  if (op.weights.vector > 0) weights["vector"] = op.weights.vector;
  if (op.weights.table) weights["table"] = true;
  if (op.weights.tied) weights["tied"] = true;
  if (!weights.empty()) json["weights"] = std::move(weights);
  if (op.spelling != Spelling::plain) json["spelling"] = kSpellings[static_cast<std::size_t>(op.spelling)];
  if (op.times != 1) json["times"] = op.times;
  if (op.unknown) json["unknown"] = true;
  return json;
}

OrderedJson section_json(const Section& section) {
  OrderedJson json{{"name", section.name}, {"repeats", section.repeats}};
  if (section.pass != Pass::forward) json["pass"] = kPasses[static_cast<std::size_t>(section.pass)];
  json["tensors"] = OrderedJson::array();
  for (const Tensor& tensor : section.tensors) {
    OrderedJson item{{"name", tensor.name}, {"elements", tensor.elements}};
    if (tensor.kind != TensorKind::activation) item["kind"] = kTensorKinds[static_cast<std::size_t>(tensor.kind)];
    json["tensors"].push_back(std::move(item));
  }
  json["operators"] = OrderedJson::array();
  for (const Operator& op : section.operators) json["operators"].push_back(operator_json(op, section));
  return json;
}

}  // namespace

Result<Graph> graph_from_json(std::string_view text, const std::string& place) {
  auto parsed = parse_json(text, place);
  if (!parsed) return std::move(parsed).error();
  std::optional<Error> failure;
  Reader read(*parsed, "", failure);
  read.refuse_other_than({"name", "sections"});
  Graph graph;
  if (!failure) graph.name = read.text("name");
  read.each("sections", [&](Reader& item) { graph.sections.push_back(read_section(item)); });
  if (graph.sections.empty()) read.fail("sections", "must be a list of at least one section", "see docs/graphs.md");
  if (!failure)
    if (auto checked = check_totals(graph); !checked) failure = std::move(checked).error();
  if (failure) return std::move(*failure).at(place);
  return graph;
}

Result<Graph> graph_from_json_file(const std::string& path) {
  auto text = read_text_file(path, kMostBytes);
  if (!text) return std::move(text).error();
  return graph_from_json(*text, path);
}

std::string graph_to_json(const Graph& graph) {
  OrderedJson json{{"name", graph.name}, {"sections", OrderedJson::array()}};
  for (const Section& section : graph.sections) json["sections"].push_back(section_json(section));
  return json_text(json);
}

bool looks_like_graph_json(std::string_view text) { return text.find("\"sections\"") != std::string_view::npos; }

}  // namespace tilecast
