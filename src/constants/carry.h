// How far the doubt about what was learned elsewhere may move a forecast.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

inline constexpr Number kMostGivenBack{
    "learned.most_given_back",
    0.25,
    "1",
    assumed,
    "log by which an unseen card's forecast moves at most from what was learned towards the physics",
    "a choice: corrections far beyond it are of kernels that the plan mistakes, which other cards show as well"};

}  // namespace tilecast::constants
