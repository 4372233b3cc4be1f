// Triton configurations for programs (docs/json.md).
#include "answers/documents.h"
#include "support/json_value.h"

namespace tilecast {
namespace {

Json config_json(const TritonConfig& config) {
  Json json = Json::object();
  const auto values = config.values();
  for (std::size_t i = 0; i < values.size(); ++i) json[kTritonConfigKeys[i]] = values[i];
  return json;
}

Json candidate_json(const TuneCandidate& one) {
  Json json{{"config", config_json(one.config)}, {"forecast_us", in_microseconds(one.forecast)}};
  json["passes"] = Json::array();
  for (const TunePass& pass : one.passes)
    json["passes"].push_back({{"us", in_microseconds(pass.latency)},
                              {"limited_by", pass.limited_by},
                              {"ctas", pass.ctas},
                              {"ctas_per_sm", pass.ctas_per_sm},
                              {"rounds", pass.rounds}});
  if (one.measured) json["measured_us"] = in_microseconds(*one.measured);
  if (!one.problem.empty()) json["problem"] = one.problem;
  return json;
}

Json tuned_json(const Tuned& tuned) {
  Json json{{"tokens", tuned.tokens}, {"pick", config_json(tuned.pick().config)}};
  for (const TuneCandidate& one : tuned.best) json["best"].push_back(candidate_json(one));
  if (tuned.standard) json["default"] = candidate_json(*tuned.standard);
  if (!tuned.note.empty()) json["note"] = tuned.note;
  return json;
}

}  // namespace

std::string moe_tuning_json(const MoeTuning& tuning, const std::vector<std::string>& files) {
  Json json{{"gpu", tuning.gpu},
            {"dtype", tuning.dtype},
            {"experts", tuning.experts},
            {"hidden", tuning.hidden},
            {"inter", tuning.inter},
            {"topk", tuning.topk},
            {"configurations", tuning.configurations},
            {"files", files}};
  for (const Tuned& tuned : tuning.tuned) json["tuned"].push_back(tuned_json(tuned));
  return json_text(json);
}

std::string gemm_tuning_json(const GemmTuning& tuning) {
  Json json{{"gpu", tuning.gpu}, {"dtype", tuning.dtype}, {"m", tuning.m},
            {"n", tuning.n},     {"k", tuning.k},         {"configurations", tuning.configurations}};
  json.update(tuned_json(tuning.tuned));
  json.erase("tokens");
  return json_text(json);
}

}  // namespace tilecast
