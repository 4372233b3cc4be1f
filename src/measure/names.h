// Few distinct strings that millions of rows share: stored once, handed out as views that live as long as the pool.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>

namespace tilecast {

class Names {
 public:
  Names() = default;
  Names(const Names&) = delete;  // views point into it
  Names& operator=(const Names&) = delete;

  std::string_view intern(std::string_view text) {
    if (auto found = known_.find(text); found != known_.end()) return *found;
    return *known_.insert(stored_.emplace_back(text)).first;
  }

 private:
  std::deque<std::string> stored_;  // a deque never moves its strings
  std::unordered_set<std::string_view> known_;
};

}  // namespace tilecast
