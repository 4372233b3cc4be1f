// Who is sent after whom: turns of conversations and calls of agents, as a run goes through them.
#pragma once

#include <cstdint>
#include <vector>

#include "serve/workload.h"

namespace tilecast {

class Turns {
 public:
  // Takes no room where no request follows another.
  explicit Turns(const std::vector<Request>& requests);

  bool any() const { return !root_.empty(); }
  // The conversation whose history the request's prompt begins with, by its first request; itself where there is none.
  Count chain_of(Count request) const { return any() ? chain_[static_cast<std::size_t>(request)] : request; }
  // Calls visit(request) for those that follow one directly.
  template <class Visit>
  void each_after(Count request, Visit visit) const {
    for (std::int32_t i = first_[static_cast<std::size_t>(request)]; i >= 0; i = sibling_[static_cast<std::size_t>(i)])
      visit(static_cast<Count>(i));
  }
  // The request is over. True where it was the last of all that follow its first one.
  bool close(Count request) {
    return --open_[static_cast<std::size_t>(root_[static_cast<std::size_t>(request)])] == 0;
  }

 private:
  std::vector<std::int32_t> first_, sibling_;  // of those that follow
  std::vector<std::int32_t> root_, chain_;
  std::vector<std::int32_t> open_;  // requests of a root that are not over
};

}  // namespace tilecast
