// Blocks that prompts of a trace begin with, told apart by hashes: a tree of all beginnings, and each request's way
// through it. Mooncake's hash_ids stand for 512 tokens each, Bailian's for 16.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "serve/workload.h"

namespace tilecast {

class BlockTree {
 public:
  // The node that a prompt of these blocks ends at; its blocks before are its ancestors.
  std::int32_t add(const std::vector<std::int64_t>& blocks);
  // Paths of requests by the nodes they end at (-1: none), in blocks of so many tokens: the part that another request
  // has too. Sets Request::path.
  SharedPaths paths(std::vector<Request>& requests, const std::vector<std::int32_t>& ends, Count block_tokens) const;

 private:
  struct Node {
    std::int32_t parent = -1, depth = 1;
    std::int32_t count = 0;  // prompts that have it
  };
  struct Edge {
    std::int32_t parent = -1;
    std::int64_t block = 0;
    bool operator==(const Edge&) const = default;
  };
  struct EdgeHash {
    std::size_t operator()(const Edge& e) const;
  };
  std::vector<Node> nodes_;
  std::unordered_map<Edge, std::int32_t, EdgeHash> edges_;
};

}  // namespace tilecast
