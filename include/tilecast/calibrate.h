// A question: what do measured rows of a card say about it beyond its data sheet? The answer is a description of the
// card that every query accepts as its `gpu`; forecasts are then corrected by the measurements.
//
//   auto mine = tilecast::calibrate({.gpu = "H200-SXM", .data = {"quick.csv.gz"}});
//   if (mine) forecast({.family = "gemm", .dims = dims, .gpu = mine->description});
//
// Any number of threads may ask at once.
#pragma once

#include <string>
#include <vector>

#include "tilecast/arguments.h"
#include "tilecast/result.h"
#include "tilecast/units.h"
#include "tilecast/watch.h"

namespace tilecast {

struct CalibrateQuery {
  std::string gpu = {};                // the card: a name, the path of a description file, or its JSON text
  std::vector<std::string> data = {};  // tables of measured rows (docs/calibrate.md)
  std::string judge = {};              // a table to judge the result by, without the shapes of `data`; empty: none
  std::string weights = {};            // correct these instead of the shipped weights
};

// Mean errors over the rows of a family and number format, |forecast - measured| / measured.
struct CalibratedFamily {
  std::string family;  // "gemm/bf16"
  Count rows = 0;
  double error_before = 0, error_after = 0;  // after: from calibrations that have not seen the rows they are judged on
  bool kept = true;                          // false: no better, so its forecasts are unchanged
  Count points = 0;                          // measured rows that its correction keeps
};

struct CalibrationReport {
  std::string gpu;
  std::string description;  // JSON text of the card with its calibration: a `gpu` for every query
  Count rows = 0;           // measured on the card
  Count rows_without_plan = 0;
  // For all families: time over the previous forecast.
  struct TimeFactor {
    std::string term;  // "math", "l2", "dram", "latency", "floor"
    double factor = 1;
  };
  std::vector<TimeFactor> time_factors;
  // Power law: energy of its work over its kind's (from sustained rows), and draw of a burst over its kind's.
  double energy_factor = 1, burst_factor = 1;
  Count sustained_rows = 0;  // measured back to back for seconds
  double sustained_before = 0, sustained_after = 0;
  std::vector<CalibratedFamily> families;
  double error_before = 0, error_after = 0;  // over all rows; families that were not kept err as before
  std::vector<CalibratedFamily> judged;      // on the table of `judge`
  Count judged_rows = 0;
  double judged_before = 0, judged_after = 0;
  Count judged_sustained_rows = 0;
  double judged_sustained_before = 0, judged_sustained_after = 0;
};

// The calibrated card, or what is wrong: errors name the query's field or the file.
Result<CalibrationReport> calibrate(const CalibrateQuery& query, const Watch& watch = {});

const Question& calibrate_question();
std::vector<BoundArgument> arguments_of(CalibrateQuery& query);

}  // namespace tilecast
