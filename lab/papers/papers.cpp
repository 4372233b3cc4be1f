#include "lab/papers/papers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "gpu/registry.h"
#include "lab/import/import.h"
#include "support/csv.h"

namespace tilecast {
namespace {

struct Published {
  Measurement row;
  Seconds theirs;
};

// The row's operator and dimensions in the words of NeuSight's own tables, so that their importer reads it.
Result<std::vector<Published>> read_published(const std::string& folder, Names& names) {
  const std::string path = folder + "/neusight/kernels_test/_neusight_pred_subset.csv.gz";
  using Identity = std::tuple<std::string, std::string, std::array<double, 4>>;
  std::map<Identity, Seconds> theirs;
  auto csv = CsvReader::open(path);
  if (!csv) return std::move(csv).error();
  std::array<std::size_t, 7> at{};
  constexpr std::array<const char*, 7> kColumns = {"device", "op", "d0", "d1", "d2", "d3", "neusight_ms"};
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto found = csv->column(kColumns[i]);
    if (!found) return std::move(found).error();
    at[i] = *found;
  }
  for (auto more = csv->next(); !more || *more; more = csv->next()) {
    if (!more) return std::move(more).error();
    const auto gpu = find_gpu((*csv)[at[0]]);
    const auto time = to_double((*csv)[at[6]]);
    if (!gpu || !time)
      return Error{csv->place(), "", "has an unknown device or no prediction",
                   "devices are those of `tilecast gpus`, predictions numbers"};
    std::array<double, 4> dims{};
    for (std::size_t i = 0; i < 4; ++i) dims[i] = to_double((*csv)[at[2 + i]]).value_or(0);
    theirs[{gpu->name, std::string((*csv)[at[1]]), dims}] = milliseconds(*time);
  }
  std::vector<Published> all;
  for (const std::string_view op : neusight_operators()) {
    const std::string table = fmt::format("{}/neusight/kernels_test/{}.csv.gz", folder, op);
    auto read = read_any(table, names, ReadOptions{}, [&](const Measurement& row) {
      const auto call = neusight_call(row.kernel, row.observed.rows, row.observed.cols);
      if (!call || built_in_gpu(row.gpu)->vendor == Vendor::amd) return Status(Ok{});
      const std::array<double, 4> dims = call->product ? std::array<double, 4>{call->b, call->m, call->n, call->k}
                                                       : std::array<double, 4>{call->b, call->h, 0, 0};
      const auto found = theirs.find({std::string(row.gpu), std::string(op), dims});
      if (found != theirs.end()) all.push_back({row, found->second});
      return Status(Ok{});
    });
    if (!read) return std::move(read).error();
  }
  return all;
}

}  // namespace

Result<std::vector<PublishedAgreement>> compare_published(const std::string& folder, const Forecaster& neusight) {
  Names names;
  const auto published = read_published(folder, names);
  if (!published) return published.error();
  std::map<std::string, PublishedAgreement> by_family;
  PublishedAgreement all;
  all.family = "all";
  for (const auto& [row, theirs] : *published) {
    const Outcome ours = neusight.forecast(row, *built_in_gpu(row.gpu));
    if (ours.failed) continue;
    PublishedAgreement& own = by_family[std::string(family_of(row.kernel.shape))];
    for (PublishedAgreement* sum : {&own, &all}) {
      ++sum->rows;
      sum->ours += std::abs(ours.forecast / row.latency - 1);
      sum->theirs += std::abs(theirs / row.latency - 1);
      if (ours.forecast > seconds(0) && theirs > seconds(0)) sum->apart += std::abs(std::log(ours.forecast / theirs));
      else ++sum->zero;
    }
  }
  std::vector<PublishedAgreement> list;
  for (auto& [family, own] : by_family) {
    own.family = family;
    list.push_back(own);
  }
  list.push_back(all);
  for (PublishedAgreement& own : list) {
    const double n = std::max<double>(1, static_cast<double>(own.rows));
    own.ours /= n;
    own.theirs /= n;
    own.apart /= std::max<double>(1, static_cast<double>(own.rows - own.zero));
  }
  return list;
}

std::string published_table(const std::vector<PublishedAgreement>& agreements) {
  std::string text =
      "| family | rows | re-trained here | NeuSight's own | mean log ratio | forecast as zero |\n"
      "|---|---:|---:|---:|---:|---:|\n";
  for (const PublishedAgreement& own : agreements)
    text +=
        fmt::format("| {} | {} | {:.1f} % | {:.1f} % | {:.3f} | {} |\n", own.family == "all" ? "**all**" : own.family,
                    own.rows, own.ours * 100, own.theirs * 100, own.apart, own.zero);
  return text;
}

namespace {

struct Part {
  std::string_view name;
  Result<Protocol> (*read)(const std::string& folder);
  std::optional<Method> method;  // the paper's, where it is part of its experiment
};
constexpr std::array<Part, 6> kParts = {{{"neusight", neusight_protocol, Method::neusight},
                                         {"cards", neusight_cards_protocol, std::nullopt},
                                         {"amd", amd_protocol, Method::neusight},
                                         {"synperf", synperf_protocol, Method::synperf},
                                         {"conv", conv_protocol, std::nullopt},
                                         {"moe", moe_protocol, std::nullopt}}};

std::vector<Contender> contenders_of(const Part& part, const PapersOptions& options) {
  std::vector<Contender> all;
  if (part.method) all.push_back(paper_contender(*part.method, options.methods));
  all.insert(all.end(), options.others.begin(), options.others.end());
  all.push_back(roofline_contender());
  const auto& wanted = options.only_methods;
  if (!wanted.empty())
    std::erase_if(all,
                  [&](const Contender& c) { return std::find(wanted.begin(), wanted.end(), c.name) == wanted.end(); });
  return all;
}

Result<std::string> part_report(const Part& part, const std::string& folder, const PapersOptions& options,
                                const Progress& progress) {
  const auto protocol = part.read(folder);
  if (!protocol) return protocol.error();
  const auto report = run_protocol(*protocol, contenders_of(part, options), options.threads, progress);
  if (!report) return report.error();
  std::string text = "### " + report->name + "\n\n" + protocol_table(*report, part.method == Method::synperf) + "\n";
  const auto* trained =
      report->trained.empty() ? nullptr : dynamic_cast<const PaperForecaster*>(report->trained.front().get());
  if (!trained) return text;
  text += "Networks, by rows, epochs and validation error:\n\n" + trained->learned().summary() + "\n";
  if (part.name != "neusight") return text;
  const auto agreements = compare_published(folder, *report->trained.front());
  if (!agreements) return agreements.error();
  return text + "Beside NeuSight's own predictions, on the rows where they were published:\n\n" +
         published_table(*agreements) + "\n";
}

}  // namespace

Result<std::string> papers_report(const std::string& folder, const PapersOptions& options, const Progress& progress) {
  std::string text;
  for (const Part& part : kParts) {
    if (!options.only.empty() && options.only != part.name) continue;
    auto report = part_report(part, folder, options, progress);
    if (!report) return std::move(report).error();
    text += *report;
  }
  if (text.empty())
    return Error{"", "only", "must be neusight, cards, amd, synperf, conv or moe, not '" + options.only + "'",
                 "leave it out for all"};
  return text;
}

}  // namespace tilecast
