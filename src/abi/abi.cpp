// The C interface (tilecast/abi.h) over questions and answers as JSON: everything is checked and caught here.
#include "tilecast/abi.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/kernel_columns.h"
#include "answers/ask.h"
#include "tilecast/step_predictor.h"
#include "tilecast/version.h"

struct tilecast_text {
  std::string text;
};

struct tilecast_predictor {
  tilecast::StepPredictor steps;
};

namespace {

using tilecast::Error;
using tilecast::Result;

// A part of an error, cut off between characters where there is no room for it.
template <std::size_t N>
void put(char (&to)[N], std::string_view from) {
  std::size_t size = std::min(from.size(), N - 1);
  if (size < from.size())
    while (size > 0 && (static_cast<unsigned char>(from[size]) & 0xC0) == 0x80) --size;
  if (size > 0) std::memcpy(to, from.data(), size);
  to[size] = '\0';
}

void put(tilecast_error* to, const Error& from) {
  if (!to) return;
  put(to->place, from.place);
  put(to->field, from.field);
  put(to->problem, from.problem);
  put(to->remedy, from.remedy);
}

tilecast_status refused(tilecast_error* error, const Error& why) {
  put(error, why);
  return TILECAST_REFUSED;
}

tilecast_status failed(tilecast_error* error, std::string_view problem, std::string_view remedy) {
  if (!error) return TILECAST_FAILED;
  *error = {};
  put(error->problem, problem);
  put(error->remedy, remedy);
  return TILECAST_FAILED;
}

// Runs what may throw: nothing does but memory that runs out, and faults of ours.
template <class Work>
tilecast_status guarded(tilecast_error* error, const Work& work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return failed(error, "there is not enough memory", "ask for less at a time");
  } catch (const std::exception& fault) {
    return failed(error, fault.what(), "please report what was asked");
  } catch (...) {
    return failed(error, "an unknown fault", "please report what was asked");
  }
}

Error missing(const char* what) { return tilecast::field_error(what, "is NULL", "give one"); }

tilecast_status hand_out(Result<std::string> answer, tilecast_text** to, tilecast_error* error) {
  if (!answer) return refused(error, answer.error());
  *to = new tilecast_text{*std::move(answer)};
  return TILECAST_OK;
}

}  // namespace

const char* tilecast_version(void) { return tilecast::version().data(); }

tilecast_status tilecast_check_abi(int abi, tilecast_error* error) {
  return guarded(error, [&]() -> tilecast_status {
    if (abi == TILECAST_ABI) return TILECAST_OK;
    return refused(error, {"libtilecast.so", "abi",
                           "has interface " + std::to_string(TILECAST_ABI) + ", not " + std::to_string(abi),
                           "load the library that belongs to the header or package"});
  });
}

const char* tilecast_text_data(const tilecast_text* text) { return text ? text->text.c_str() : ""; }
size_t tilecast_text_size(const tilecast_text* text) { return text ? text->text.size() : 0; }
void tilecast_text_free(tilecast_text* text) { delete text; }

tilecast_status tilecast_ask(const char* question, const char* query, tilecast_text** answer, tilecast_error* error) {
  return guarded(error, [&] {
    if (!question) return refused(error, missing("question"));
    if (!query) return refused(error, missing("query"));
    if (!answer) return refused(error, missing("answer"));
    return hand_out(tilecast::ask(question, query), answer, error);
  });
}

tilecast_status tilecast_ask_many(const char* question, const char* queries, int threads, tilecast_text** answers,
                                  tilecast_error* error) {
  return guarded(error, [&] {
    if (!question) return refused(error, missing("question"));
    if (!queries) return refused(error, missing("queries"));
    if (!answers) return refused(error, missing("answers"));
    return hand_out(tilecast::ask_many(question, queries, threads), answers, error);
  });
}

tilecast_status tilecast_questions(tilecast_text** answer, tilecast_error* error) {
  return guarded(error, [&] {
    if (!answer) return refused(error, missing("answer"));
    return hand_out(tilecast::questions_json(), answer, error);
  });
}

tilecast_status tilecast_kernel_times(const char* query, const tilecast_column* columns, size_t column_count,
                                      size_t rows, int threads, double* seconds, tilecast_error* error) {
  return guarded(error, [&] {
    if (!query) return refused(error, missing("query"));
    if (!columns && column_count > 0) return refused(error, missing("columns"));
    if (!seconds && rows > 0) return refused(error, missing("seconds"));
    std::vector<tilecast::DimColumn> dims;
    for (const tilecast_column& column : std::span(columns, column_count)) {
      if (!column.name) return refused(error, missing("columns"));
      if (!column.values && rows > 0) return refused(error, missing(column.name));
      dims.push_back({column.name, {column.values, rows}});
    }
    const auto kernel = tilecast::kernel_query(query);
    if (!kernel) return refused(error, kernel.error());
    const auto done = tilecast::kernel_times(*kernel, dims, {seconds, rows}, threads);
    return done ? TILECAST_OK : refused(error, done.error());
  });
}

tilecast_status tilecast_predictor_new(const char* query, tilecast_predictor** predictor, tilecast_error* error) {
  return guarded(error, [&] {
    if (!query) return refused(error, missing("query"));
    if (!predictor) return refused(error, missing("predictor"));
    const auto step = tilecast::step_query(query);
    if (!step) return refused(error, step.error());
    auto made = tilecast::StepPredictor::make(*step);
    if (!made) return refused(error, made.error());
    *predictor = new tilecast_predictor{*std::move(made)};
    return TILECAST_OK;
  });
}

tilecast_status tilecast_predictor_step(tilecast_predictor* predictor, size_t prefills, const int64_t* fresh,
                                        const int64_t* cached, size_t decodes, const int64_t* decode_cached,
                                        double* seconds, tilecast_error* error) {
  return guarded(error, [&] {
    if (!predictor) return refused(error, missing("predictor"));
    if (prefills > 0 && (!fresh || !cached)) return refused(error, missing("prefill"));
    if (decodes > 0 && !decode_cached) return refused(error, missing("decode"));
    if (!seconds) return refused(error, missing("seconds"));
    std::vector<tilecast::StepPredictor::Prompt> prompts(prefills);
    for (std::size_t i = 0; i < prefills; ++i) prompts[i] = {fresh[i], cached[i]};
    const auto time = predictor->steps.time(prompts, {decode_cached, decodes});
    if (!time) return refused(error, time.error());
    *seconds = time->base();
    return TILECAST_OK;
  });
}

void tilecast_predictor_free(tilecast_predictor* predictor) { delete predictor; }
