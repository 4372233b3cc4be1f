// Lets a caller follow the progress of a long question and stop it.
//
//   plan_serve(query, [&](double share) { show(share); });
//   plan_serve(query, [&](double share) { return !cancelled; });  // false stops it: the answer is then stopped()
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "tilecast/result.h"

namespace tilecast {

class Watch {
 public:
  Watch() = default;
  // Called with the completed share, from 0 to 1; a callback that returns nothing never stops the question.
  template <class Hear>
  requires std::is_invocable_v<Hear&, double> Watch(
      Hear hear) {  // NOLINT(google-explicit-constructor): lambdas are meant to convert
    if constexpr (std::is_same_v<std::invoke_result_t<Hear&, double>, bool>) hear_ = std::move(hear);
    else
      hear_ = [hear = std::move(hear)](double share) mutable {
        hear(share);
        return true;
      };
  }
  // Whether to continue.
  bool go_on(double share) const { return !hear_ || hear_(share); }
  explicit operator bool() const { return bool(hear_); }
  // For a part of the question: its own shares, from 0 to 1, are reported as `low` to `high` of the whole.
  Watch part(double low, double high) const {
    if (!hear_) return {};
    return [hear = hear_, low, high](double share) { return hear(low + share * (high - low)); };
  }

 private:
  std::function<bool(double)> hear_;
};

inline Error stopped() { return error("was cancelled", "ask again"); }
inline bool is_stopped(const Error& problem) { return problem.problem == "was cancelled"; }

}  // namespace tilecast
