// Navigating an ONNX graph: what produces a value, what reads it, and what it is behind casts and views.
#pragma once

#include <optional>
#include <vector>

#include "model/onnx_net.h"

namespace tilecast {

// Refers to the steps in place: they may be rewritten, but not moved, during its lifetime.
class OnnxMatch {
 public:
  explicit OnnxMatch(const OnnxNet& net);

  const OnnxNet& net() const { return net_; }
  const OnnxValue& value(int id) const { return net_.value(id); }
  const OnnxStep* producer(int id) const;
  // For the original graph: a step rewritten since still counts.
  bool read_once(int id) const;
  std::size_t first_reader(int id) const;  // its index; beyond the last where there is none
  template <class Is>
  bool all_readers(int id, Is&& is) const {
    for (const std::size_t reader : readers_[static_cast<std::size_t>(id)])
      if (!is(net_.steps[reader])) return false;
    return !readers_[static_cast<std::size_t>(id)].empty();
  }

  // The single value a constant holds, however often repeated.
  std::optional<double> number(int id) const;
  int past_casts(int id) const;
  // What a constant multiplies or divides; otherwise the value itself.
  int past_scaling(int id) const;
  // Behind casts, constant factors and other orders of the same elements; with `repeats`, behind expansions as well.
  int past_layout(int id, bool repeats = false) const;

  // Makes a step what another is, name and attributes included; its outputs stay.
  void become(OnnxStep& step, const OnnxStep& other) const;

 private:
  const OnnxNet& net_;
  std::vector<int> producer_;
  std::vector<std::vector<std::size_t>> readers_;
};

}  // namespace tilecast
