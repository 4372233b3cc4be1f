// Choosing a token: what PyTorch's reductions over values and positions take.
#pragma once

#include "constants/constant.h"

namespace tilecast::constants {

inline constexpr Number kArgmaxRounds{"argmax.rounds",
                                      1.5,
                                      "loads",
                                      measured,
                                      "time of a step of PyTorch's argmax, whose comparisons wait for each other",
                                      "one CTA over 32 000 and 128 256 logits in 8.5 and 26 us on an H200 "
                                      "(data/measurements/h200_small.csv.gz)"};

}  // namespace tilecast::constants
