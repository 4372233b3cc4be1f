// A calibration for programs (docs/json.md).
#include "answers/documents.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

Json families_json(const std::vector<CalibratedFamily>& families) {
  Json list = Json::array();
  for (const CalibratedFamily& f : families)
    list.push_back({{"family", f.family},
                    {"rows", f.rows},
                    {"error_before", f.error_before},
                    {"error_after", f.error_after},
                    {"kept", f.kept}});
  return list;
}

}  // namespace

std::string calibration_json_text(const CalibrationReport& report, const CalibrateRun& run) {
  Json factors = Json::object();
  for (const auto& [term, factor] : report.time_factors) factors[term] = factor;
  Json json = {{"gpu", report.gpu},
               {"rows", report.rows},
               {"rows_without_plan", report.rows_without_plan},
               {"seconds", run.seconds},
               {"time_factors", factors},
               {"energy_factor", report.energy_factor},
               {"burst_factor", report.burst_factor},
               {"sustained_rows", report.sustained_rows},
               {"error_before", report.error_before},
               {"error_after", report.error_after},
               {"families", families_json(report.families)}};
  if (run.written.empty()) json["description"] = report.description;
  else json["written"] = run.written;
  if (!run.judge.empty()) json["judged"] = {{"table", run.judge}, {"families", families_json(report.judged)}};
  return json_text(json);
}

}  // namespace tilecast
