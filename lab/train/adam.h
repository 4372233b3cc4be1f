// AdamW (Loshchilov and Hutter, Decoupled weight decay regularization, 2019) with PyTorch's defaults.
#pragma once

#include <span>
#include <vector>

#include "support/workers.h"

namespace tilecast {

class AdamW {
 public:
  AdamW(std::size_t parameters, double weight_decay) : decay_(weight_decay), first_(parameters), second_(parameters) {}

  void step(std::span<float> parameters, std::span<const float> gradients, double rate, Workers& workers);

 private:
  double decay_;
  int steps_ = 0;
  std::vector<float> first_, second_;  // moments
};

}  // namespace tilecast
