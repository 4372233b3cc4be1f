// What the operators of a recording tell of each other's results.
#pragma once

#include <vector>

#include "diagnose/recording.h"

namespace tilecast {

// The recording's operators; convolutions whose stride was not recorded with the dims of their results where the sum
// with the bias, an operator of its own, leaves no doubt.
std::vector<OperatorCall> with_results(const std::vector<OperatorCall>& operators);

}  // namespace tilecast
