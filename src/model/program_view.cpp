// Arguments of a recorded operator by name, and the sizes of its tensors.
#include <algorithm>
#include <cmath>

#include "model/program_rules.h"

namespace tilecast {

const ProgramLayout* OperatorView::tensor(std::string_view argument) const {
  const ProgramArgument* found = op_.find(argument);
  if (!found || found->kind != ProgramValue::tensor || found->counts.empty() || found->counts[0] < 0) return nullptr;
  return &program_.layouts[static_cast<std::size_t>(found->counts[0])];
}

std::vector<const ProgramLayout*> OperatorView::tensors(std::string_view argument) const {
  std::vector<const ProgramLayout*> list;
  const ProgramArgument* found = op_.find(argument);
  if (!found || (found->kind != ProgramValue::tensors && found->kind != ProgramValue::tensor)) return list;
  for (const Count i : found->counts)
    if (i >= 0) list.push_back(&program_.layouts[static_cast<std::size_t>(i)]);
  return list;
}

std::vector<const ProgramLayout*> OperatorView::inputs() const {
  std::vector<const ProgramLayout*> list;
  for (const ProgramArgument& argument : op_.arguments)
    if (argument.kind == ProgramValue::tensor || argument.kind == ProgramValue::tensors)
      for (const Count i : argument.counts)
        if (i >= 0) list.push_back(&program_.layouts[static_cast<std::size_t>(i)]);
  return list;
}

std::vector<const ProgramLayout*> OperatorView::results() const {
  std::vector<const ProgramLayout*> list;
  for (const int i : op_.results) list.push_back(&program_.layouts[static_cast<std::size_t>(i)]);
  return list;
}

const ProgramLayout* OperatorView::result(std::size_t i) const {
  return i < op_.results.size() ? &program_.layouts[static_cast<std::size_t>(op_.results[i])] : nullptr;
}

std::vector<Count> OperatorView::wholes(std::string_view argument) const {
  const ProgramArgument* found = op_.find(argument);
  if (!found) return {};
  const ProgramValue kind = found->kind;
  if (kind == ProgramValue::whole || kind == ProgramValue::wholes || kind == ProgramValue::truth ||
      kind == ProgramValue::truths)
    return found->counts;
  return {};
}

Count OperatorView::whole(std::string_view argument, Count otherwise) const {
  const std::vector<Count> list = wholes(argument);
  return list.empty() ? otherwise : list.front();
}

double OperatorView::number(std::string_view argument, double otherwise) const {
  const ProgramArgument* found = op_.find(argument);
  if (found && !found->numbers.empty()) return found->numbers.front();
  return static_cast<double>(whole(argument, static_cast<Count>(otherwise)));
}

bool OperatorView::truth(std::string_view argument, bool otherwise) const {
  return whole(argument, otherwise ? 1 : 0) != 0;
}

Count elements_of(const ProgramLayout& layout) {
  Count n = 1;
  for (const Count size : layout.shape) n *= size;
  return n;
}

Count distinct_elements(const ProgramLayout& layout) {
  Count n = 1;
  for (std::size_t i = 0; i < layout.shape.size(); ++i)
    if (layout.strides[i] != 0 || layout.shape[i] == 0) n *= layout.shape[i];
  return n;
}

double element_bytes(std::string_view dtype) {
  if (dtype == "fp64" || dtype == "int64" || dtype == "complex64") return 8;
  if (dtype == "complex128") return 16;
  if (dtype == "fp32" || dtype == "int32") return 4;
  if (dtype == "fp16" || dtype == "bf16" || dtype == "int16") return 2;
  return 1;
}

double bytes_of(const ProgramLayout& layout) {
  return static_cast<double>(distinct_elements(layout)) * element_bytes(layout.dtype);
}

bool is_floating(std::string_view dtype) {
  return dtype.starts_with("fp") || dtype == "bf16" || dtype.starts_with("float") || dtype.starts_with("complex");
}

PricedAs priced_as(std::string_view dtype) {
  if (dtype == "bf16" || dtype == "fp16" || dtype == "fp32" || dtype == "fp64")
    return {dtype == "bf16" ? "bf16" : dtype == "fp16" ? "fp16" : dtype == "fp32" ? "fp32" : "fp64", 1};
  const double size = element_bytes(dtype);
  if (size >= 4) return {"fp32", size / 4};
  return {"bf16", size / 2};
}

}  // namespace tilecast
