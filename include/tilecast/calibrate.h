// A question: what do measured rows of a card say of it beyond its data sheet? The answer is a description of the card,
// which every query takes as its `gpu`: their forecasts are then corrected by what was measured.
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
  std::string judge = {};              // a table to judge the result by, shapes of `data` left out; empty: none
  std::string weights = {};            // correct these in place of the shipped ones
};

// Mean errors of the rows of a family and number format, |forecast - measured| / measured.
struct CalibratedFamily {
  std::string family;  // "gemm/bf16"
  Count rows = 0;
  double error_before = 0, error_after = 0;  // after: by calibrations that have not seen the rows they are judged by
  bool kept = true;                          // false: no better, so its forecasts stay as they were
  Count points = 0;                          // measured rows that its correction remembers
};

struct CalibrationReport {
  std::string gpu;
  std::string description;  // JSON text of the card with its calibration: a `gpu` for every query
  Count rows = 0;           // measured, of the card
  Count rows_without_plan = 0;
  // In all families, time over what was forecast before.
  struct TimeFactor {
    std::string term;  // "math", "l2", "dram", "latency", "floor"
    double factor = 1;
  };
  std::vector<TimeFactor> time_factors;
  // Of the power law: energy of its work over its kind's (by rows of runs that last), draw of a burst over its kind's.
  double energy_factor = 1, burst_factor = 1;
  Count sustained_rows = 0;  // measured back to back for seconds
  double sustained_before = 0, sustained_after = 0;
  std::vector<CalibratedFamily> families;
  double error_before = 0, error_after = 0;  // of all rows; families that were not kept err as before
  std::vector<CalibratedFamily> judged;      // by the table of `judge`
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
