// Questions about what was recorded or measured: a profiler's trace, a card's own rows.
#include <chrono>

#include "answers/answering.h"
#include "answers/documents.h"
#include "answers/drawings.h"
#include "support/file.h"

namespace tilecast {

AnswerDocument ask_diagnose(GivenArguments& given) {
  DiagnoseQuery query;
  if (auto fine = read_query(given, query); !fine) return fine.error();
  const auto report = diagnose(query, given.progress());
  if (!report) return report.error();
  return given.drawings() ? with_files(diagnose_json(*report), given.drawings()->diagnosis(*report))
                          : diagnose_json(*report);
}

AnswerDocument ask_retime(GivenArguments& given) {
  RetimeQuery query;
  if (auto fine = read_query(given, query); !fine) return fine.error();
  const auto report = retime(query, given.progress());
  return report ? AnswerDocument(retime_json(*report)) : AnswerDocument(report.error());
}

AnswerDocument ask_calibrate(GivenArguments& given) {
  const auto began = std::chrono::steady_clock::now();
  CalibrateQuery query;
  const auto out = given.take_text("out");
  if (!out) return out.error();
  if (auto fine = read_query(given, query); !fine) return fine.error();
  if (!out->empty())
    if (auto fine = check_writable(*out); !fine) return fine.error();
  const auto report = calibrate(query, given.progress());
  if (!report) return report.error();
  if (!out->empty())
    if (auto saved = write_text_file(*out, report->description); !saved) return saved.error();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  return calibration_json_text(*report, {*out, query.judge, took.count()});
}

}  // namespace tilecast
