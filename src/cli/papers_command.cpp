#include "cli/papers_command.h"

#include <fmt/format.h>

#include "learn/protocols.h"

namespace tilecast {
namespace {

Result<std::string> report_of(Result<Protocol> protocol, Method method, const PapersCommand& command) {
  if (!protocol) return std::move(protocol).error();
  MethodOptions options;
  if (command.epochs > 0) options.neusight.epochs = options.synperf.epochs = static_cast<int>(command.epochs);
  options.neusight.most_rows = options.synperf.most_rows = command.most_rows;
  options.neusight.threads = options.synperf.threads = command.threads;
  const auto report =
      run_protocol(*protocol, {paper_contender(method, options), roofline_contender()}, command.threads, Progress{});
  if (!report) return report.error();
  std::string text = "### " + report->name + "\n\n" + protocol_table(*report, method == Method::synperf);
  const auto* trained = dynamic_cast<const TrainedMethod*>(report->trained.front().get());
  if (trained) text += "\nTrained:\n" + trained->summary();
  if (command.only == "neusight" ||
      (command.only.empty() && method == Method::neusight && report->name.starts_with("NeuSight"))) {
    const auto agreements = compare_published(command.data, *report->trained.front());
    if (!agreements) return agreements.error();
    text += "\n" + published_table(*agreements);
  }
  return text + "\n";
}

}  // namespace

Result<std::string> run_papers(const PapersCommand& command) {
  if (!command.only.empty() && command.only != "neusight" && command.only != "amd" && command.only != "synperf")
    return Error{"--only", "", "must be neusight, amd or synperf, not '" + command.only + "'", ""};
  if (command.epochs < 0 || command.epochs > 100000) return Error{"--epochs", "", "must lie between 0 and 100000", ""};
  if (command.most_rows < 0) return Error{"--most-rows", "", "must be zero (all) or more", ""};
  if (command.threads < 1 || command.threads > 64) return Error{"--threads", "", "must lie between 1 and 64", ""};
  std::string text;
  const auto add = [&](std::string_view name, auto protocol, Method method) -> Status {
    if (!command.only.empty() && command.only != name) return Ok{};
    auto report = report_of(protocol(command.data), method, command);
    if (!report) return std::move(report).error();
    text += *report;
    return Ok{};
  };
  if (auto done = add("synperf", synperf_protocol, Method::synperf); !done) return std::move(done).error();
  if (auto done = add("amd", amd_protocol, Method::neusight); !done) return std::move(done).error();
  if (auto done = add("neusight", neusight_protocol, Method::neusight); !done) return std::move(done).error();
  return text;
}

}  // namespace tilecast
