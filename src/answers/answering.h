// One function for every question: reads the arguments that are given, asks the API, writes the document. questions.cpp
// lists them.
#pragma once

#include <string>

#include "answers/given.h"
#include "tilecast/arguments.h"
#include "tilecast/kernel.h"

namespace tilecast {

using AnswerDocument = Result<std::string>;

AnswerDocument ask_kernel(GivenArguments& given);
AnswerDocument ask_predict(GivenArguments& given);
AnswerDocument ask_memory(GivenArguments& given);
AnswerDocument ask_collective(GivenArguments& given);
AnswerDocument ask_simulate(GivenArguments& given);
AnswerDocument ask_plan_serve(GivenArguments& given);
AnswerDocument ask_plan_train(GivenArguments& given);
AnswerDocument ask_diagnose(GivenArguments& given);
AnswerDocument ask_retime(GivenArguments& given);
AnswerDocument ask_tune_moe(GivenArguments& given);
AnswerDocument ask_tune_gemm(GivenArguments& given);
AnswerDocument ask_calibrate(GivenArguments& given);
AnswerDocument ask_gpus(GivenArguments& given);
AnswerDocument ask_gpu(GivenArguments& given);
AnswerDocument ask_models(GivenArguments& given);
AnswerDocument ask_clusters(GivenArguments& given);

// A query from all that is given, nothing left over.
template <class Query>
Status read_query(GivenArguments& given, Query& query) {
  if (auto filled = given.fill(arguments_of(query)); !filled) return filled;
  return given.check_all_taken();
}

// A kernel: what its query declares, and the dimensions of its family.
Result<KernelQuery> read_kernel(GivenArguments& given);

}  // namespace tilecast
