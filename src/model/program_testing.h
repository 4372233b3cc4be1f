// Small recorded programs for tests, written as JSON by hand.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "model/program_file.h"

namespace tilecast {

// One operator with the layouts `arguments` name, in the forward phase.
struct TestOperator {
  std::string name;
  std::string arguments;  // JSON: [["self","tensor",0]]
  std::string results;    // JSON: [1]
  std::string reads = {}, writes = {};  // storages, JSON
};

inline std::string test_layout(const std::string& dtype, const std::string& shape, const std::string& strides) {
  return fmt::format(R"({{"dtype":"{}","device":"cuda","shape":[{}],"strides":[{}]}})", dtype, shape, strides);
}

inline std::string test_program_text(const std::vector<std::string>& layouts, const std::vector<TestOperator>& operators,
                                     const std::string& storages, const std::string& more = "") {
  std::string ops, order, modules, phases, reads, writes, all;
  for (std::size_t i = 0; i < layouts.size(); ++i) all += (i ? "," : "") + layouts[i];
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const TestOperator& op = operators[i];
    const char* comma = i ? "," : "";
    ops += fmt::format(R"({}{{"name":"{}","view":false,"arguments":{},"results":{}}})", comma, op.name, op.arguments, op.results);
    order += fmt::format("{}{}", comma, i), modules += comma + std::string("0"), phases += comma + std::string("0");
    reads += comma + op.reads, writes += comma + op.writes;
  }
  return fmt::format(
      R"({{"format":"tilecast.program","version":1,"name":"test","about":{{"torch":"2.11.0"}},"modules":[""],"phases":["forward"],)"
      R"("layouts":[{}],"operators":[{}],"storages":{},"calls":{{"operator":[{}],"module":[{}],"phase":[{}],"reads":[{}],"writes":[{}]}}{}}})",
      all, ops, storages, order, modules, phases, reads, writes, more);
}

// `count` storages of these bytes, there before the first call and after the last.
inline std::string test_storages(int count, Count bytes = 1024) {
  std::string size, device, role, edge;
  for (int i = 0; i < count; ++i) {
    const char* comma = i ? "," : "";
    size += fmt::format("{}{}", comma, bytes), device += comma + std::string("\"cuda\"");
    role += comma + std::string("\"other\""), edge += comma + std::string("-1");
  }
  return fmt::format(R"({{"bytes":[{}],"device":[{}],"role":[{}],"born":[{}],"dies":[{}]}})", size, device, role, edge, edge);
}

}  // namespace tilecast
