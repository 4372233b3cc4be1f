#include "lab/evaluate/protocols.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "gpu/registry.h"
#include "lab/import/import.h"
#include "measure/dims.h"

namespace tilecast {
namespace {

enum class Use : std::uint8_t { none, train, judge, both };
using Choose = std::function<Use(const Measurement&)>;

bool is_amd(const Measurement& row) {
  const Gpu* gpu = built_in_gpu(row.gpu);
  return gpu && gpu->vendor == Vendor::amd;
}

Status read_into(Protocol& protocol, const std::string& path, const Choose& choose) {
  auto report = read_any(path, *protocol.names, ReadOptions{}, [&](const Measurement& row) {
    const Use use = choose(row);
    if (use == Use::none) return Status(Ok{});
    if (use != Use::judge) protocol.train.push_back(protocol.rows.size());
    if (use != Use::train) protocol.judged.push_back(protocol.rows.size());
    protocol.rows.push_back(row);
    return Status(Ok{});
  });
  if (!report) return std::move(report).error();
  return Ok{};
}

Result<Protocol> read_protocol(std::string name, const std::vector<std::pair<std::string, Choose>>& tables) {
  Protocol protocol;
  protocol.name = std::move(name);
  protocol.names = std::make_unique<Names>();
  for (const auto& [path, choose] : tables)
    if (auto read = read_into(protocol, path, choose); !read) return std::move(read).error();
  if (protocol.train.empty() || protocol.judged.empty())
    return Error{tables.front().first, "", "has no rows to train on or to judge by",
                 "fetch the source's tables again: all of them belong together"};
  return protocol;
}

// NeuSight's operators; convolutions have no test rows.
constexpr std::array<std::string_view, 15> kOperators = {"linear", "bmm",  "softmax", "ln",   "add",
                                                         "addu",   "mul",  "mulu",    "div",  "divu",
                                                         "pow",    "powu", "relu",    "gelu", "tanh"};

ProtocolErrors errors_of(const std::vector<Measurement>& rows, const std::vector<Outcome>& outcomes) {
  ProtocolErrors e;
  const std::vector<Group> groups = group_errors(rows, outcomes, {});
  if (!groups.empty()) {
    e.mean = groups[0].mean;
    e.median = groups[0].median;
    e.p90 = groups[0].p90;
    e.bias = groups[0].bias;
    e.failed = groups[0].failed;
  }
  Count n = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (outcomes[i].failed || outcomes[i].forecast <= seconds(0)) continue;
    e.efficiency += std::abs(rows[i].latency / outcomes[i].forecast - 1);
    ++n;
  }
  if (n > 0) e.efficiency /= static_cast<double>(n);
  return e;
}

// Mean over GPUs of every figure.
ProtocolLine averaged(const std::vector<ProtocolLine>& lines, const std::string& family, std::size_t contenders) {
  ProtocolLine all{family, "all", 0, true, std::vector<ProtocolErrors>(contenders)};
  const double n = static_cast<double>(lines.size());
  for (const ProtocolLine& line : lines) {
    all.rows += line.rows;
    all.seen = all.seen && line.seen;
    for (std::size_t c = 0; c < contenders; ++c) {
      ProtocolErrors& sum = all.errors[c];
      const ProtocolErrors& own = line.errors[c];
      sum.mean += own.mean / n;
      sum.median += own.median / n;
      sum.p90 += own.p90 / n;
      sum.bias += own.bias / n;
      sum.efficiency += own.efficiency / n;
      sum.failed += own.failed;
    }
  }
  return all;
}

std::string percent_text(double share) { return fmt::format("{:.1f} %", share * 100); }

}  // namespace

std::span<const std::string_view> neusight_operators() { return kOperators; }

Result<Protocol> neusight_protocol(const std::string& folder) {
  std::vector<std::pair<std::string, Choose>> tables;
  for (const bool test : {false, true})
    for (const std::string_view op : kOperators) {
      const std::string path = fmt::format("{}/neusight/kernels_{}/{}.csv.gz", folder, test ? "test" : "train", op);
      const Use use = test ? Use::judge : Use::train;
      tables.emplace_back(path, [use](const Measurement& row) { return is_amd(row) ? Use::none : use; });
    }
  return read_protocol("NeuSight: kernels_train of NVIDIA GPUs to kernels_test", tables);
}

Result<Protocol> neusight_cards_protocol(const std::string& folder) {
  constexpr std::uint64_t kTaken =
      4;  // one shape in this many of the training tables, so that eight trainings take minutes
  std::vector<std::pair<std::string, Choose>> tables;
  for (const std::string_view op : kOperators) {
    tables.emplace_back(fmt::format("{}/neusight/kernels_train/{}.csv.gz", folder, op), [=](const Measurement& row) {
      return is_amd(row) || shape_hash(row.kernel.shape, 0) % kTaken != 0 ? Use::none : Use::train;
    });
    tables.emplace_back(fmt::format("{}/neusight/kernels_test/{}.csv.gz", folder, op),
                        [](const Measurement& row) { return is_amd(row) ? Use::none : Use::both; });
  }
  auto protocol = read_protocol("NeuSight: kernels_test, one GPU left out", tables);
  if (protocol) protocol->leave_one_out = true;
  return protocol;
}

Result<Protocol> amd_protocol(const std::string& folder) {
  std::vector<std::pair<std::string, Choose>> tables;
  for (const char* op : {"linear", "bmm"})
    tables.emplace_back(fmt::format("{}/neusight/kernels_test/{}.csv.gz", folder, op), [](const Measurement& row) {
      return row.gpu == "MI100" ? Use::train : row.gpu == "MI210" ? Use::judge : Use::none;
    });
  return read_protocol("AMD: MI100 to MI210", tables);
}

Result<Protocol> synperf_protocol(const std::string& folder) {
  return read_protocol("SynPerf: fp8 GEMM of H20 and H800",
                       {{folder + "/synperf/gemm_fp8_train.csv.gz", [](const Measurement&) { return Use::train; }},
                        {folder + "/synperf/gemm_fp8_test.csv.gz", [](const Measurement&) { return Use::judge; }}});
}

Result<Protocol> conv_protocol(const std::string& folder) {
  auto protocol = read_protocol("NeuSight: convolutions, one GPU left out",
                                {{folder + "/neusight/kernels_train/conv.csv.gz",
                                  [](const Measurement& row) { return is_amd(row) ? Use::none : Use::both; }}});
  if (protocol) protocol->leave_one_out = true;
  return protocol;
}

Result<Protocol> moe_protocol(const std::string& folder) {
  auto protocol =
      read_protocol("SynPerf: fused MoE, one GPU left out",
                    {{folder + "/synperf/fused_moe_triton.csv.gz", [](const Measurement&) { return Use::both; }}});
  if (protocol) protocol->leave_one_out = true;
  return protocol;
}

Contender paper_contender(Method method, const MethodOptions& options) {
  return {std::string(name_of(method)),
          [=](const std::vector<Measurement>& rows, std::span<const std::size_t> train,
              const Progress& progress) -> Result<std::unique_ptr<Forecaster>> {
            auto trained = train_method(method, rows, train, options, progress);
            if (!trained) return std::move(trained).error();
            return std::unique_ptr<Forecaster>(*std::move(trained));
          }};
}

Contender roofline_contender() {
  return {"roofline",
          [](const std::vector<Measurement>&, std::span<const std::size_t>,
             const Progress&) -> Result<std::unique_ptr<Forecaster>> { return analytic_method(Method::roofline); }};
}

Result<std::vector<Outcome>> forecast_across_folds(const std::vector<Measurement>& rows,
                                                   const std::vector<std::string>& folds, const Trainer& train,
                                                   int threads, const Progress& progress) {
  std::map<std::string, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < rows.size(); ++i) members[folds[i]].push_back(i);
  std::vector<Outcome> outcomes(rows.size());
  double done = 0;
  for (const auto& [fold, own] : members) {
    std::vector<std::size_t> rest;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (folds[i] != fold) rest.push_back(i);
    const double each = 1 / static_cast<double>(members.size());
    const auto trained = train(rows, rest, [&, name = fold](double share, std::string_view what) {
      if (progress && share < 1) progress((done + share) * each, std::string(what) + " without " + name);
    });
    if (!trained) return trained.error();
    std::vector<Measurement> left;
    for (const std::size_t i : own) left.push_back(rows[i]);
    const auto forecasts = forecast_all(**trained, left, threads);
    for (std::size_t i = 0; i < own.size(); ++i) outcomes[own[i]] = forecasts[i];
    ++done;
  }
  if (progress) progress(1, "");
  return outcomes;
}

namespace {

// Every judged row by a training on the rows of other GPUs.
Result<std::vector<Outcome>> forecast_across_gpus(const Protocol& protocol, const Trainer& train, int threads,
                                                  const Progress& progress) {
  std::map<std::string_view, std::vector<std::size_t>> members;  // places among the judged rows
  for (std::size_t i = 0; i < protocol.judged.size(); ++i) members[protocol.rows[protocol.judged[i]].gpu].push_back(i);
  std::vector<Outcome> outcomes(protocol.judged.size());
  for (const auto& [gpu, own] : members) {
    std::vector<std::size_t> rest;
    for (const std::size_t i : protocol.train)
      if (protocol.rows[i].gpu != gpu) rest.push_back(i);
    const auto trained = train(protocol.rows, rest, progress);
    if (!trained) return trained.error();
    std::vector<Measurement> left;
    for (const std::size_t i : own) left.push_back(protocol.rows[protocol.judged[i]]);
    const auto forecasts = forecast_all(**trained, left, threads);
    for (std::size_t i = 0; i < own.size(); ++i) outcomes[own[i]] = forecasts[i];
  }
  return outcomes;
}

}  // namespace

Result<ProtocolReport> run_protocol(const Protocol& protocol, const std::vector<Contender>& contenders, int threads,
                                    const Progress& progress) {
  ProtocolReport report;
  report.name = protocol.name;
  std::vector<Measurement> judged;
  for (const std::size_t i : protocol.judged) judged.push_back(protocol.rows[i]);
  std::vector<std::vector<Outcome>> outcomes;
  for (const Contender& contender : contenders) {
    report.contenders.push_back(contender.name);
    if (protocol.leave_one_out) {
      auto forecasts = forecast_across_gpus(protocol, contender.train, threads, progress);
      if (!forecasts) return std::move(forecasts).error();
      outcomes.push_back(*std::move(forecasts));
      continue;
    }
    auto trained = contender.train(protocol.rows, protocol.train, progress);
    if (!trained) return std::move(trained).error();
    outcomes.push_back(forecast_all(**trained, judged, threads));
    report.trained.push_back(*std::move(trained));
  }
  std::map<std::string, std::map<std::string, std::vector<std::size_t>>> groups;  // family, GPU -> judged rows
  for (std::size_t i = 0; i < judged.size(); ++i)
    groups[std::string(family_of(judged[i].kernel.shape))][std::string(judged[i].gpu)].push_back(i);
  std::map<std::pair<std::string_view, std::string_view>, Count> trained_on;
  for (const std::size_t i : protocol.leave_one_out ? std::vector<std::size_t>{} : protocol.train)
    ++trained_on[{family_of(protocol.rows[i].kernel.shape), protocol.rows[i].gpu}];
  for (const auto& [family, by_gpu] : groups) {
    std::vector<ProtocolLine> lines;
    for (const auto& [gpu, members] : by_gpu) {
      ProtocolLine line{family, gpu, static_cast<Count>(members.size()), trained_on.contains({family, gpu}), {}};
      std::vector<Measurement> rows;
      for (const std::size_t i : members) rows.push_back(judged[i]);
      for (const auto& all : outcomes) {
        std::vector<Outcome> own;
        for (const std::size_t i : members) own.push_back(all[i]);
        line.errors.push_back(errors_of(rows, own));
      }
      lines.push_back(std::move(line));
    }
    const ProtocolLine all = averaged(lines, family, contenders.size());
    std::move(lines.begin(), lines.end(), std::back_inserter(report.lines));
    report.lines.push_back(all);
  }
  return report;
}

std::string protocol_table(const ProtocolReport& report, bool efficiency) {
  std::string head = "| family | GPU | rows | seen |", rule = "|---|---|---:|---|";
  for (const std::string& name : report.contenders) {
    head += " " + name + " |" + (efficiency ? " of efficiency |" : "");
    rule += efficiency ? "---:|---:|" : "---:|";
  }
  std::string text = head + "\n" + rule + "\n";
  for (std::size_t i = 0; i < report.lines.size(); ++i) {
    const ProtocolLine& line = report.lines[i];
    const bool all = line.gpu == "all";
    if (all && (i < 2 || report.lines[i - 2].family != line.family))
      continue;  // only one GPU: the line above says the same
    text += fmt::format("| {} | {} | {} | {} |", line.family, all ? "**all**" : line.gpu, line.rows,
                        all         ? ""
                        : line.seen ? "yes"
                                    : "no");
    for (const ProtocolErrors& e : line.errors) {
      const bool none = e.failed >= line.rows;
      text += none ? " - |" : " " + percent_text(e.mean) + " |";
      if (efficiency) text += none ? " - |" : " " + percent_text(e.efficiency) + " |";
    }
    text += "\n";
  }
  return text;
}

}  // namespace tilecast
