#include "gpu/calibration_file.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "support/json.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

// No card differs from its data sheet by a factor of e^3.
constexpr double kMostLog = 3;
constexpr std::size_t kMostPoints = 5000;

// Reads the section and keeps the first error.
class CalibrationReader {
 public:
  explicit CalibrationReader(std::string place) : place_(std::move(place)) {}
  const std::optional<Error>& failure() const { return failure_; }

  Calibration whole(const Json& json) {
    Calibration c;
    if (!is_object(json, "calibration")) return c;
    c.rows = rows(json, "calibration");
    if (json.contains("data") && json["data"].is_string()) c.data = json["data"].get<std::string>();
    c.factors = factors(json, "calibration");
    if (!json.contains("families") || !is_object(json["families"], "calibration.families")) return c;
    for (const auto& [key, value] : json["families"].items())
      c.families[key] = family(value, "calibration.families." + key);
    return c;
  }

  CardPower power(const Json& json) {
    CardPower p;
    if (!json.is_object() || !json.contains("power") || !is_object(json["power"], "calibration.power")) return p;
    p.energy = member(json["power"], "energy", "calibration.power", -kMostLog, kMostLog);
    p.burst = member(json["power"], "burst", "calibration.power", -kMostLog, kMostLog);
    return p;
  }

 private:
  void fail(const std::string& field, std::string problem) {
    if (!failure_) failure_ = Error{place_, field, std::move(problem), "write the file anew with `tilecast calibrate`"};
  }
  bool is_object(const Json& json, const std::string& field) {
    if (!json.is_object()) fail(field, "must be an object");
    return json.is_object();
  }
  float number(const Json& json, const std::string& field, double least, double most) {
    const double v = json.is_number() ? json.get<double>() : NAN;
    if (!(v >= least && v <= most))
      fail(field, "must be a number between " + Json(least).dump() + " and " + Json(most).dump());
    return static_cast<float>(v);
  }
  float member(const Json& json, const char* name, const std::string& field, double least, double most) {
    if (json.contains(name)) return number(json[name], field + "." + name, least, most);
    fail(field + "." + name, "is missing");
    return 0;
  }
  Count rows(const Json& json, const std::string& field) {
    return static_cast<Count>(member(json, "rows", field, 0, 1e12));
  }
  CardFactors factors(const Json& json, const std::string& field) {
    CardFactors read{};
    if (!json.contains("factors")) return fail(field + ".factors", "is missing"), read;
    if (!is_object(json["factors"], field + ".factors")) return read;
    for (std::size_t i = 0; i < read.size(); ++i)
      read[i] = member(json["factors"], kCardTermNames[i].data(), field + ".factors", -kMostLog, kMostLog);
    return read;
  }
  FamilyCalibration family(const Json& json, const std::string& field) {
    FamilyCalibration read;
    if (!is_object(json, field)) return read;
    read.rows = rows(json, field);
    read.factors = factors(json, field);
    read.offset = member(json, "offset", field, -kMostLog, kMostLog);
    read.reach = member(json, "reach", field, 0.01, 1000);
    read.spread = member(json, "spread", field, 0.01, 100);
    if (json.contains("sources") && is_object(json["sources"], field + ".sources"))
      for (const auto& [name, value] : json["sources"].items())
        read.sources[name] = number(value, field + ".sources." + name, -kMostLog, kMostLog);
    if (!json.contains("points")) return read;
    const Json& points = json["points"];
    if (!points.is_array() || points.size() > kMostPoints)
      return fail(field + ".points", "must be a list of at most 5000 points"), read;
    for (const Json& value : points) read.points.push_back(point(value, field + ".points"));
    return read;
  }
  CalibrationPoint point(const Json& json, const std::string& field) {
    CalibrationPoint read;
    if (!is_object(json, field)) return read;
    if (!json.contains("variant") || !json["variant"].is_string())
      return fail(field + ".variant", "must be a text"), read;
    read.variant = json["variant"].get<std::string>();
    read.weight = member(json, "weight", field, -100, 100);
    if (!json.contains("place") || !json["place"].is_array() || json["place"].size() != read.place.size())
      return fail(field + ".place", "must be a list of " + std::to_string(read.place.size()) + " numbers"), read;
    for (std::size_t i = 0; i < read.place.size(); ++i)
      read.place[i] = number(json["place"][i], field + ".place", -1e6, 1e6);
    return read;
  }

  std::string place_;
  std::optional<Error> failure_;
};

// Short texts: the fit is not that exact.
double rounded(float v) { return std::round(static_cast<double>(v) * 1e5) / 1e5; }

Json factors_json(const CardFactors& factors) {
  Json json = Json::object();
  for (std::size_t i = 0; i < factors.size(); ++i) json[std::string(kCardTermNames[i])] = rounded(factors[i]);
  return json;
}

}  // namespace

Result<Calibration> parse_calibration(const Json& json, const std::string& place) {
  CalibrationReader reader(place);
  Calibration calibration = reader.whole(json);
  if (reader.failure()) return *reader.failure();
  return calibration;
}

Result<CardPower> parse_card_power(const Json& json, const std::string& place) {
  CalibrationReader reader(place);
  const CardPower power = reader.power(json);
  if (reader.failure()) return *reader.failure();
  return power;
}

Json calibration_json(const Calibration& c, const CardPower& power) {
  Json families = Json::object();
  for (const auto& [key, family] : c.families) {
    Json points = Json::array(), sources = Json::object();
    for (const auto& [name, offset] : family.sources) sources[name] = rounded(offset);
    for (const CalibrationPoint& point : family.points) {
      Json place = Json::array();
      for (const float v : point.place) place.push_back(rounded(v));
      points.push_back({{"variant", point.variant}, {"weight", rounded(point.weight)}, {"place", std::move(place)}});
    }
    families[key] = {{"rows", family.rows},
                     {"factors", factors_json(family.factors)},
                     {"offset", rounded(family.offset)},
                     {"sources", sources},
                     {"reach", family.reach},
                     {"spread", rounded(family.spread)},
                     {"points", points}};
  }
  return {
      {"rows", c.rows},
      {"data", c.data},
      {"factors", factors_json(c.factors)},
      {"power",
       {{"energy", rounded(static_cast<float>(power.energy))}, {"burst", rounded(static_cast<float>(power.burst))}}},
      {"families", families}};
}

std::string like_description(const std::string& name) { return Json{{"like", name}, {"name", name}}.dump(); }

Result<std::string> with_calibration(const std::string& description, const std::string& place,
                                     const Calibration& calibration, const CardPower& power) {
  auto json = parse_json_object(description, place, "see docs/gpu-files.md");
  if (!json) return std::move(json).error();
  (*json)["calibration"] = calibration_json(calibration, power);
  return json_text(*json, 1);
}

}  // namespace tilecast
