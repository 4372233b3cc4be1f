#include "model/program_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/gzip_reader.h"
#include "support/json.h"
#include "support/text.h"

namespace tilecast {
namespace {

using ProgramJson = nlohmann::json;

// BERT-large's training is 2 MB of text; a file of this size is a wrong one.
constexpr std::size_t kMostProgramBytes = std::size_t{256} << 20;
constexpr Count kMostProgramNumber = Count{1} << 50;
constexpr std::size_t kMostProgramRank = 64;  // PyTorch's own limit
constexpr double kMostFormula = 1e12;
constexpr Count kMostProgramRanks = Count{1} << 20;
constexpr Count kMostProgramStreams = 1024;
constexpr std::array<std::string_view, 10> kArgumentKinds = {"tensor", "tensors", "int",   "float", "bool",
                                                             "ints",   "floats",  "bools", "dtype", "text"};
constexpr std::array<std::string_view, 5> kStorageRoles = {"other", "parameter", "buffer", "gradient", "optimizer"};

// Reads the file's tables; the first error is kept and later reads change nothing.
class ProgramReader {
 public:
  ProgramReader(const ProgramJson& root, std::string place) : root_(root), place_(std::move(place)) {}

  Result<ProgramFile> read() {
    header();
    made_.modules = texts("modules");
    made_.phases = texts("phases");
    each("layouts", [&](const ProgramJson& item, const std::string& at) { layout(item, at); });
    each("operators", [&](const ProgramJson& item, const std::string& at) { one_operator(item, at); });
    storages();
    calls();
    if (root_.contains("formulas"))
      each("formulas", [&](const ProgramJson& item, const std::string& at) { formula(item, at); });
    if (root_.contains("ranks")) ranks(member(root_, "ranks", ""));
    if (failure_) return *std::move(failure_);
    return std::move(made_);
  }

 private:
  void fail(const std::string& field, std::string problem, std::string remedy = "see docs/program.md") {
    if (!failure_) failure_ = Error{place_, field, std::move(problem), std::move(remedy)};
  }

  const ProgramJson& member(const ProgramJson& object, const std::string& field, const std::string& at) {
    static const ProgramJson kNothing;
    const std::string path = at.empty() ? field : at + "." + field;
    if (!object.is_object()) return fail(at, "must be an object"), kNothing;
    if (!object.contains(field)) return fail(path, "is missing"), kNothing;
    return object[field];
  }
  std::string text(const ProgramJson& value, const std::string& at) {
    if (!value.is_string()) return fail(at, "must be a text"), std::string();
    return value.get<std::string>();
  }
  bool truth(const ProgramJson& value, const std::string& at) {
    if (!value.is_boolean()) return fail(at, "must be true or false"), false;
    return value.get<bool>();
  }
  Count whole(const ProgramJson& value, const std::string& at, Count least, Count most) {
    const bool fits = value.is_number_integer() &&
                      !(value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most));
    if (most < least) return fail(at, "counts in a list that is empty"), least;
    if (!fits || value.get<Count>() < least || value.get<Count>() > most)
      return fail(at, fmt::format("must be a whole number between {} and {}", least, most)), least;
    return value.get<Count>();
  }
  std::vector<Count> wholes(const ProgramJson& value, const std::string& at, Count least, Count most) {
    std::vector<Count> found;
    if (!value.is_array()) return fail(at, "must be a list"), found;
    found.reserve(value.size());
    for (std::size_t i = 0; i < value.size() && !failure_; ++i)
      found.push_back(whole(value[i], fmt::format("{}[{}]", at, i), least, most));
    return found;
  }
  // Places in a table of `size` entries.
  std::vector<int> places(const ProgramJson& value, const std::string& at, std::size_t size) {
    std::vector<int> found;
    for (const Count place : wholes(value, at, 0, static_cast<Count>(size) - 1))
      found.push_back(static_cast<int>(place));
    return found;
  }
  template <std::size_t n>
  int choice(const ProgramJson& value, const std::string& at, const std::array<std::string_view, n>& names) {
    const std::string given = text(value, at);
    const auto found = std::find(names.begin(), names.end(), given);
    if (found != names.end()) return static_cast<int>(found - names.begin());
    return fail(at, fmt::format("unknown choice '{}'", given), "one of " + join({names.begin(), names.end()}, ", ")), 0;
  }
  template <class Use>
  void each(const std::string& field, Use&& use) {
    const ProgramJson& list = member(root_, field, "");
    if (failure_) return;
    if (!list.is_array()) return fail(field, "must be a list");
    for (std::size_t i = 0; i < list.size() && !failure_; ++i) use(list[i], fmt::format("{}[{}]", field, i));
  }
  std::vector<std::string> texts(const std::string& field) {
    std::vector<std::string> found;
    each(field, [&](const ProgramJson& item, const std::string& at) { found.push_back(text(item, at)); });
    return found;
  }
  bool on_card(const ProgramJson& value, const std::string& at) { return text(value, at) == "cuda"; }

  void header() {
    if (text(member(root_, "format", ""), "format") != "tilecast.program")
      fail("format", "must be 'tilecast.program'", "record the program with tilecast.torch, see docs/program.md");
    if (whole(member(root_, "version", ""), "version", 1, kMostProgramNumber) > 1)
      fail("version", "is newer than this program reads", "update tilecast, or record with an older package");
    made_.name = text(member(root_, "name", ""), "name");
    if (root_.contains("about") && root_["about"].is_object() && root_["about"].contains("torch"))
      made_.torch = text(root_["about"]["torch"], "about.torch");
  }

  void layout(const ProgramJson& item, const std::string& at) {
    ProgramLayout found;
    found.dtype = text(member(item, "dtype", at), at + ".dtype");
    found.on_card = on_card(member(item, "device", at), at + ".device");
    found.shape = wholes(member(item, "shape", at), at + ".shape", 0, kMostProgramNumber);
    found.strides = wholes(member(item, "strides", at), at + ".strides", 0, kMostProgramNumber);
    if (found.shape.size() != found.strides.size()) fail(at + ".strides", "must be as many as the shape's sizes");
    if (found.shape.size() > kMostProgramRank)
      fail(at + ".shape", fmt::format("has more than {} sizes", kMostProgramRank));
    double elements = 1;
    for (const Count size : found.shape) elements *= static_cast<double>(size);
    if (elements > static_cast<double>(kMostProgramNumber)) fail(at + ".shape", "has more elements than any memory");
    made_.layouts.push_back(std::move(found));
  }

  void one_operator(const ProgramJson& item, const std::string& at) {
    ProgramOperator found;
    found.name = text(member(item, "name", at), at + ".name");
    found.view = truth(member(item, "view", at), at + ".view");
    found.results = places(member(item, "results", at), at + ".results", made_.layouts.size());
    const ProgramJson& list = member(item, "arguments", at);
    if (failure_) return;
    if (!list.is_array()) return fail(at + ".arguments", "must be a list");
    for (std::size_t i = 0; i < list.size() && !failure_; ++i)
      found.arguments.push_back(argument(list[i], fmt::format("{}.arguments[{}]", at, i)));
    made_.operators.push_back(std::move(found));
  }

  ProgramArgument argument(const ProgramJson& item, const std::string& at) {
    ProgramArgument found;
    if (!item.is_array() || item.size() != 3) return fail(at, "must be [name, kind, value]"), found;
    found.name = text(item[0], at + "[0]");
    found.kind = static_cast<ProgramValue>(choice(item[1], at + "[1]", kArgumentKinds));
    value_of(item[2], at + "[2]", found);
    return found;
  }

  void value_of(const ProgramJson& value, const std::string& at, ProgramArgument& into) {
    const Count layouts = static_cast<Count>(made_.layouts.size());
    switch (into.kind) {
      case ProgramValue::tensor: into.counts = {whole(value, at, 0, layouts - 1)}; break;
      case ProgramValue::tensors: into.counts = wholes(value, at, -1, layouts - 1); break;
      case ProgramValue::whole: into.counts = {any_whole(value, at)}; break;
      case ProgramValue::wholes:
        listed(value, at, [&](const auto& v, const auto& p) { into.counts.push_back(any_whole(v, p)); });
        break;
      case ProgramValue::truth: into.counts = {truth(value, at) ? 1 : 0}; break;
      case ProgramValue::truths:
        listed(value, at, [&](const auto& v, const auto& p) { into.counts.push_back(truth(v, p) ? 1 : 0); });
        break;
      case ProgramValue::number: into.numbers = {number(value, at)}; break;
      case ProgramValue::numbers:
        listed(value, at, [&](const auto& v, const auto& p) { into.numbers.push_back(number(v, p)); });
        break;
      case ProgramValue::dtype:
      case ProgramValue::text: into.text = text(value, at); break;
    }
  }
  template <class Use>
  void listed(const ProgramJson& value, const std::string& at, Use&& use) {
    if (!value.is_array()) return fail(at, "must be a list");
    for (std::size_t i = 0; i < value.size() && !failure_; ++i) use(value[i], fmt::format("{}[{}]", at, i));
  }
  // PyTorch says "to the end" by the highest number there is.
  Count any_whole(const ProgramJson& value, const std::string& at) {
    if (!value.is_number_integer()) return fail(at, "must be a whole number"), 0;
    if (value.is_number_unsigned())
      return static_cast<Count>(std::min(value.get<std::uint64_t>(), static_cast<std::uint64_t>(kMostProgramNumber)));
    return std::clamp(value.get<Count>(), -kMostProgramNumber, kMostProgramNumber);
  }
  double number(const ProgramJson& value, const std::string& at) {
    if (value.is_number()) return value.get<double>();
    const std::string given = text(value, at);
    if (given == "inf") return std::numeric_limits<double>::infinity();
    if (given == "-inf") return -std::numeric_limits<double>::infinity();
    if (given != "nan") fail(at, "must be a number, inf, -inf or nan");
    return std::numeric_limits<double>::quiet_NaN();
  }

  void formula(const ProgramJson& item, const std::string& at) {
    OperatorFormula found;
    found.op = text(member(item, "op", at), at + ".op");
    for (const auto& [field, value] :
         {std::pair("read", &found.read), {"written", &found.written}, {"flops", &found.flops}}) {
      const std::string place = at + "." + field;
      *value = number(member(item, field, at), place);
      if (!(*value >= 0) || *value > kMostFormula) fail(place, "must be a number between 0 and 1e12");
    }
    made_.formulas.push_back(std::move(found));
  }

  // The columns of a table, all of one length.
  std::vector<const ProgramJson*> columns(const std::string& table, const std::vector<std::string>& names) {
    std::vector<const ProgramJson*> found;
    const ProgramJson& object = member(root_, table, "");
    for (const std::string& name : names) {
      if (failure_) return {};
      const ProgramJson& column = member(object, name, table);
      if (failure_) return {};
      const std::string at = fmt::format("{}.{}", table, name);
      if (!column.is_array()) return fail(at, "must be a list"), found;
      if (!found.empty() && column.size() != found[0]->size())
        return fail(at, fmt::format("must be as long as {}.{}", table, names[0])), found;
      found.push_back(&column);
    }
    return found;
  }

  void storages() {
    const auto found = columns("storages", {"bytes", "device", "role", "born", "dies"});
    const auto all = columns("calls", {"operator"});
    if (failure_) return;
    const Count last = static_cast<Count>(all[0]->size()) - 1;
    Count together = 0;
    for (std::size_t i = 0; i < found[0]->size() && !failure_; ++i) {
      const auto at = [&](const char* name) { return fmt::format("storages.{}[{}]", name, i); };
      ProgramStorage storage;
      storage.bytes = whole((*found[0])[i], at("bytes"), 0, kMostProgramNumber);
      storage.on_card = on_card((*found[1])[i], at("device"));
      storage.role = static_cast<StorageRole>(choice((*found[2])[i], at("role"), kStorageRoles));
      storage.born = static_cast<int>(whole((*found[3])[i], at("born"), -1, last));
      storage.dies = static_cast<int>(whole((*found[4])[i], at("dies"), -1, last));
      if (storage.dies != -1 && storage.dies < storage.born) fail(at("dies"), "is before it is born");
      together += storage.bytes;
      if (together > kMostProgramNumber) fail(at("bytes"), "is more with those before it than any memory");
      made_.storages.push_back(storage);
    }
  }

  void calls() {
    const auto found = columns("calls", {"operator", "module", "phase", "reads", "writes"});
    if (failure_) return;
    for (std::size_t i = 0; i < found[0]->size() && !failure_; ++i) {
      const auto at = [&](const char* name) { return fmt::format("calls.{}[{}]", name, i); };
      const auto place = [&](std::size_t column, const char* name, std::size_t size) {
        return static_cast<int>(whole((*found[column])[i], at(name), 0, static_cast<Count>(size) - 1));
      };
      ProgramCall call;
      call.op = place(0, "operator", made_.operators.size());
      call.module = place(1, "module", made_.modules.size());
      call.phase = place(2, "phase", made_.phases.size());
      call.reads = places((*found[3])[i], at("reads"), made_.storages.size());
      call.writes = places((*found[4])[i], at("writes"), made_.storages.size());
      made_.calls.push_back(std::move(call));
    }
    if (!failure_ && root_["calls"].contains("graph")) graphs();
    if (!failure_ && root_["calls"].contains("stream")) streams();
  }

  void streams() {
    const auto found = columns("calls", {"operator", "stream"});
    if (failure_) return;
    for (std::size_t i = 0; i < made_.calls.size() && !failure_; ++i)
      made_.calls[i].stream =
          static_cast<int>(whole((*found[1])[i], fmt::format("calls.stream[{}]", i), 0, kMostProgramStreams - 1));
  }

  void ranks(const ProgramJson& object) {
    const auto number = [&](const char* name, Count least, Count most) {
      return static_cast<int>(whole(member(object, name, "ranks"), fmt::format("ranks.{}", name), least, most));
    };
    made_.world = number("world", 1, kMostProgramRanks);
    made_.rank = number("rank", 0, made_.world - 1);
    const ProgramJson& groups = member(object, "groups", "ranks");
    listed(groups, "ranks.groups", [&](const ProgramJson& item, const std::string& at) {
      ProcessGroup group{text(member(item, "name", at), at + ".name"), {}};
      for (const Count rank : wholes(member(item, "ranks", at), at + ".ranks", 0, made_.world - 1))
        group.ranks.push_back(static_cast<int>(rank));
      if (group.ranks.empty()) fail(at + ".ranks", "must name at least one rank");
      made_.groups.push_back(std::move(group));
    });
    waits(member(object, "waits", "ranks"));
  }

  void waits(const ProgramJson& object) {
    const Count calls = static_cast<Count>(made_.calls.size());
    std::vector<std::vector<Count>> columns;
    for (const auto& [name, most] : {std::pair("call", calls),
                                     {"stream", kMostProgramStreams - 1},
                                     {"for", kMostProgramStreams - 1},
                                     {"until", calls}}) {
      columns.push_back(wholes(member(object, name, "ranks.waits"), fmt::format("ranks.waits.{}", name), 0, most));
      if (columns.back().size() != columns.front().size())
        fail(fmt::format("ranks.waits.{}", name), "must be as long as ranks.waits.call");
    }
    const auto at = [&](std::size_t column, std::size_t i) { return static_cast<int>(columns[column][i]); };
    for (std::size_t i = 0; i < columns[0].size() && !failure_; ++i)
      made_.waits.push_back({at(0, i), at(1, i), at(2, i), at(3, i)});
  }

  void graphs() {
    const auto found = columns("calls", {"operator", "graph"});
    if (failure_) return;
    made_.from_inductor = true;
    for (std::size_t i = 0; i < made_.calls.size() && !failure_; ++i)
      made_.calls[i].graph = static_cast<int>(
          whole((*found[1])[i], fmt::format("calls.graph[{}]", i), -1, static_cast<Count>(made_.calls.size()) - 1));
  }

  const ProgramJson& root_;
  std::string place_;
  std::optional<Error> failure_;
  ProgramFile made_;
};

}  // namespace

const ProgramArgument* ProgramOperator::find(std::string_view argument) const {
  for (const ProgramArgument& one : arguments)
    if (one.name == argument) return &one;
  return nullptr;
}

Result<ProgramFile> program_from_json(std::string_view text, const std::string& place) {
  const auto root = parse_json_object(text, place, "a recorded program, see docs/program.md");
  if (!root) return root.error();
  return ProgramReader(*root, place).read();
}

Result<ProgramFile> program_from_file(const std::string& path) {
  auto bytes = ByteReader::open(path);
  if (!bytes) return bytes.error();
  std::string text;
  std::array<char, 1 << 16> block{};
  for (;;) {
    const auto got = bytes->read(block.data(), block.size());
    if (!got) return got.error();
    if (*got == 0) break;
    if (text.size() + *got > kMostProgramBytes)
      return Error{path, "", fmt::format("is larger than {} MiB", kMostProgramBytes >> 20),
                   "a recorded program is a few megabytes at most"};
    text.append(block.data(), *got);
  }
  return program_from_json(text, path);
}

bool looks_like_program_json(std::string_view text) {
  constexpr std::size_t kBeginning = 200;
  return is_object_text(text) && text.substr(0, kBeginning).find("\"tilecast.program\"") != std::string_view::npos;
}

std::vector<Count> memory_over_calls(const ProgramFile& program) {
  std::vector<Count> change(program.calls.size() + 2, 0);
  for (const ProgramStorage& storage : program.storages) {
    if (!storage.on_card) continue;
    change[static_cast<std::size_t>(Count{storage.born} + 1)] += storage.bytes;
    if (storage.dies != -1) change[static_cast<std::size_t>(Count{storage.dies} + 2)] -= storage.bytes;
  }
  // The first entry is what is there before the first call; it stays during that call.
  std::vector<Count> held(program.calls.size() + 1, 0);
  Count now = change[0];
  for (std::size_t i = 0; i < held.size(); ++i) held[i] = now += change[i + 1];
  return held;
}

Count peak_bytes(const ProgramFile& program) {
  const std::vector<Count> held = memory_over_calls(program);
  return *std::max_element(held.begin(), held.end());
}

}  // namespace tilecast
