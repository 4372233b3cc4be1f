#include "serve/trace_blocks.h"

#include <algorithm>

#include "support/random.h"

namespace tilecast {

std::size_t BlockTree::EdgeHash::operator()(const Edge& e) const {
  return static_cast<std::size_t>(
      mixed(mixed(static_cast<std::uint64_t>(e.block)) ^ static_cast<std::uint64_t>(e.parent)));
}

std::int32_t BlockTree::add(const std::vector<std::int64_t>& blocks) {
  std::int32_t at = -1;
  for (const std::int64_t block : blocks) {
    const auto [edge, fresh] = edges_.try_emplace({at, block}, static_cast<std::int32_t>(nodes_.size()));
    if (fresh) nodes_.push_back({at, at < 0 ? 1 : nodes_[static_cast<std::size_t>(at)].depth + 1, 0});
    at = edge->second;
    ++nodes_[static_cast<std::size_t>(at)].count;
  }
  return at;
}

// A segment ends where fewer prompts go on than came: it is named by the node it ends at.
SharedPaths BlockTree::paths(std::vector<Request>& requests, const std::vector<std::int32_t>& ends,
                             Count block_tokens) const {
  SharedPaths paths;
  std::unordered_map<std::int64_t, std::int32_t> known;  // by end and, where it cuts the last block, length
  std::vector<PathSegment> way;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    std::int32_t node = ends[i];
    while (node >= 0 && nodes_[static_cast<std::size_t>(node)].count < 2)
      node = nodes_[static_cast<std::size_t>(node)].parent;
    if (node < 0) continue;
    const Count input = requests[i].input;
    const bool cut = nodes_[static_cast<std::size_t>(node)].depth * block_tokens > input;
    if (const auto there = known.find(node); there != known.end() && !cut) {
      requests[i].path = there->second;
      continue;
    }
    way.clear();
    for (std::int32_t at = node, below = -1; at >= 0; below = at, at = nodes_[static_cast<std::size_t>(at)].parent) {
      const Node& n = nodes_[static_cast<std::size_t>(at)];
      if (below >= 0 && nodes_[static_cast<std::size_t>(below)].count == n.count) continue;
      way.push_back({at, std::min(n.depth * block_tokens, input)});
    }
    paths.segments.insert(paths.segments.end(), way.rbegin(), way.rend());
    requests[i].path = static_cast<std::int32_t>(paths.ends.size());
    paths.ends.push_back(static_cast<std::uint32_t>(paths.segments.size()));
    if (!cut) known.emplace(node, requests[i].path);
  }
  return paths;
}

}  // namespace tilecast
