#include "lab/evidence/endtoend_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "support/csv.h"
#include "support/json.h"
#include "support/statistics.h"
#include "support/text.h"

namespace tilecast {

ErrorSummary summary_of_errors(const std::vector<double>& ratios) {
  ErrorSummary s;
  s.rows = static_cast<Count>(ratios.size());
  if (ratios.empty()) return s;
  std::vector<double> errors;
  for (const double ratio : ratios) {
    errors.push_back(std::abs(ratio - 1));
    s.bias += (ratio - 1) / static_cast<double>(ratios.size());
    s.mean += errors.back() / static_cast<double>(ratios.size());
  }
  s.median = quantile(errors, 0.5);
  s.p90 = quantile(errors, 0.9);
  return s;
}

std::vector<double> ratios_of(const std::vector<EndToEndResult>& results, const ResultFilter& wanted) {
  std::vector<double> ratios;
  for (const EndToEndResult& r : results)
    if (wanted(r)) ratios.push_back(r.ratio());
  return ratios;
}

std::vector<EndToEndResult> row_counts(const std::string& source, Count judged,
                                       const std::map<std::string, Count>& left_out) {
  std::vector<EndToEndResult> results;
  const auto add = [&](const char* fate, const std::string& why, Count rows) {
    EndToEndResult one;
    one.label.source = source + fate, one.label.detail = why;
    one.quantity = "rows";
    one.measured = one.forecast = static_cast<double>(rows);
    results.push_back(std::move(one));
  };
  add(" judged", "", judged);
  for (const auto& [why, rows] : left_out) add(" left out", why, rows);
  return results;
}

namespace {

constexpr std::string_view kHeader =
    "source,gpu,engine,model,mode,detail,batch,length,quantity,measured,forecast,host_bound,fits,low,high,parts_low,"
    "parts_high,kind,steps_kind,measured_by,of_first,of_further";

std::optional<EndToEndResult> result_of(const CsvReader& csv) {
  if (!csv.problem().empty()) return std::nullopt;
  EndToEndResult r;
  EndToEndLabel& l = r.label;
  std::size_t at = 0;
  for (std::string* text : {&l.source, &l.gpu, &l.engine, &l.model, &l.mode, &l.detail}) *text = csv[at++];
  for (Count* count : {&l.batch, &l.length}) {
    const auto value = to_count(csv[at++]);
    if (!value) return std::nullopt;
    *count = *value;
  }
  r.quantity = csv[at++];
  std::array<double, 8> numbers{};
  for (double& number : numbers) {
    const auto value = to_double(csv[at++]);
    if (!value) return std::nullopt;
    number = *value;
  }
  r.measured = numbers[0], r.forecast = numbers[1], r.host_bound = numbers[2] > 0, r.fits = numbers[3] > 0;
  r.low = numbers[4], r.high = numbers[5], r.parts_low = numbers[6], r.parts_high = numbers[7];
  for (std::string* text : {&r.kind, &r.steps_kind, &l.measured_by}) *text = csv[at++];
  for (double* share : {&r.of_first, &r.of_further}) {
    const auto value = to_double(csv[at++]);
    if (!value) return std::nullopt;
    *share = *value;
  }
  return r;
}

}  // namespace

Result<std::vector<EndToEndResult>> read_end_to_end_csv(const std::string& path) {
  auto csv = CsvReader::open(path);
  if (!csv) return std::move(csv).error();
  if (join(csv->header(), ",") != kHeader)
    return Error{path, "", "is not a table of judged runs", "remove it, and it is made again"};
  std::vector<EndToEndResult> results;
  while (true) {
    const auto more = csv->next();
    if (!more) return more.error();
    if (!*more) return results;
    auto r = result_of(*csv);
    if (!r) return Error{csv->place(), "", "is not a judged run", "remove the file, and it is made again"};
    results.push_back(*std::move(r));
  }
}

std::string end_to_end_csv(const std::vector<EndToEndResult>& results) {
  std::string out = std::string(kHeader) + "\n";
  for (const EndToEndResult& r : results) {
    const EndToEndLabel& l = r.label;
    for (const std::string* text : {&l.source, &l.gpu, &l.engine, &l.model, &l.mode, &l.detail}) {
      append_csv(out, *text);
      out += ',';
    }
    out +=
        fmt::format("{},{},{},{:.9g},{:.9g},{:d},{:d},{:.9g},{:.9g},{:.9g},{:.9g},\"{}\",\"{}\",\"{}\",{:.6g},{:.6g}\n",
                    l.batch, l.length, r.quantity, r.measured, r.forecast, r.host_bound, r.fits, r.low, r.high,
                    r.parts_low, r.parts_high, r.kind, r.steps_kind, l.measured_by, r.of_first, r.of_further);
  }
  return out;
}

std::string end_to_end_json(const std::vector<EndToEndResult>& results) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const EndToEndResult& r : results) {
    const EndToEndLabel& l = r.label;
    const std::string unit = r.quantity == "memory" ? "bytes" : r.quantity == "throughput" ? "per_s" : "s";
    nlohmann::ordered_json entry = {{"source", l.source},
                                    {"gpu", l.gpu},
                                    {"engine", l.engine},
                                    {"model", l.model},
                                    {"mode", l.mode},
                                    {"detail", l.detail},
                                    {"batch", l.batch},
                                    {"length", l.length},
                                    {"quantity", r.quantity},
                                    {"measured_" + unit, r.measured},
                                    {"forecast_" + unit, r.forecast},
                                    {"host_bound", r.host_bound},
                                    {"fits", r.fits}};
    if (!r.others.empty()) {
      nlohmann::ordered_json others = nlohmann::ordered_json::object();
      for (const auto& [name, value] : r.others) others[name] = value;
      entry["others"] = std::move(others);
    }
    list.push_back(std::move(entry));
  }
  return json_text(list, 1);
}

}  // namespace tilecast
