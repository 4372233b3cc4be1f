#include "diagnose/exchange.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "support/text.h"

namespace tilecast {
namespace {

constexpr int kMostRank = 1 << 20;

// As torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp names them to the profiler (RECORD_PARAM_COMMS_DATA).
std::optional<CollectiveOp> op_of(std::string_view name) {
  constexpr std::pair<std::string_view, CollectiveOp> kNames[] = {
      {"allreduce", CollectiveOp::all_reduce},
      {"all_reduce", CollectiveOp::all_reduce},
      {"allreduce_coalesced", CollectiveOp::all_reduce},
      {"allgather", CollectiveOp::all_gather},
      {"all_gather", CollectiveOp::all_gather},
      {"_allgather_base", CollectiveOp::all_gather},
      {"allgather_into_tensor_coalesced", CollectiveOp::all_gather},
      {"reduce_scatter", CollectiveOp::reduce_scatter},
      {"_reduce_scatter_base", CollectiveOp::reduce_scatter},
      {"reduce_scatter_tensor_coalesced", CollectiveOp::reduce_scatter},
      {"all_to_all", CollectiveOp::all_to_all},
      {"all_to_allv", CollectiveOp::all_to_all},
      {"broadcast", CollectiveOp::broadcast},
      {"send", CollectiveOp::send_recv},
      {"recv", CollectiveOp::send_recv}};
  for (const auto& [known, op] : kNames)
    if (known == name) return op;
  return std::nullopt;
}

// Types as c10/core/ScalarType.h names them.
struct ScalarWidth {
  std::string_view name;
  double bytes;
  bool integer;
};
const ScalarWidth* width_of_scalar(std::string_view name) {
  static constexpr std::array<ScalarWidth, 13> kWidths = {{{"Byte", 1, true},
                                                           {"Char", 1, true},
                                                           {"Bool", 1, true},
                                                           {"Short", 2, true},
                                                           {"Int", 4, true},
                                                           {"Long", 8, true},
                                                           {"Half", 2, false},
                                                           {"BFloat16", 2, false},
                                                           {"Float", 4, false},
                                                           {"Double", 8, false},
                                                           {"Float8_e4m3fn", 1, false},
                                                           {"Float8_e5m2", 1, false},
                                                           {"Float8_e4m3fnuz", 1, false}}};
  for (const ScalarWidth& width : kWidths)
    if (width.name == name) return &width;
  return nullptr;
}

template <class Number>
Number number_or_zero(std::string_view text) {
  Number number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc{} && number > 0 ? number : Number{0};
}

// "[0, 8, 16, ...]": the profiler cuts long lists, which go on in the same steps.
std::vector<int> members_of(std::string_view text, int ranks) {
  std::vector<int> members;
  for (const std::string& part : split(text, ',')) {
    const auto digit = part.find_first_of("0123456789");
    if (digit == std::string::npos) break;
    members.push_back(std::min(number_or_zero<int>(std::string_view(part).substr(digit)), kMostRank));
  }
  const std::size_t listed = members.size();
  if (listed < 2 || listed > static_cast<std::size_t>(ranks)) return listed == 1 || listed == 0 ? members : std::vector<int>();
  const int step = members[1] - members[0];
  while (members.size() < static_cast<std::size_t>(ranks)) {
    const int next = members.back() + step;
    if (step < 1 || next > kMostRank) return {};
    members.push_back(next);
  }
  return members;
}

}  // namespace

int RecordedExchange::gpus_needed() const {
  const auto last = std::max_element(members.begin(), members.end());
  return std::max(ranks, last == members.end() ? 0 : *last + 1);
}

int RecordedExchange::local_on(int gpus_per_node) const {
  if (members.size() < 2 || members[1] - members[0] == 1) return 0;
  const int node = members[0] / gpus_per_node;
  const auto beside = std::count_if(members.begin(), members.end(), [&](int r) { return r / gpus_per_node == node; });
  return static_cast<int>(beside);
}

std::optional<RecordedExchange> exchange_from(std::string_view text) {
  const std::vector<std::string> part = split(text, '|');
  if (part.size() != 6) return std::nullopt;
  const auto op = op_of(part[0]);
  const ScalarWidth* width = width_of_scalar(part[3]);
  const auto ranks = number_or_zero<int>(part[4]);
  if (!op || !width || ranks < 2 || ranks > kMostRank) return std::nullopt;
  RecordedExchange exchange;
  exchange.op = *op, exchange.integers = width->integer;
  exchange.ranks = *op == CollectiveOp::send_recv ? 2 : ranks;
  const auto sent = number_or_zero<double>(part[1]), received = number_or_zero<double>(part[2]);
  const double elements = *op == CollectiveOp::reduce_scatter || *op == CollectiveOp::all_to_all ? sent
                          : *op == CollectiveOp::all_gather                                       ? received
                                                                                                  : std::max(sent, received);
  if (!(elements > 0) || elements > 1e15) return std::nullopt;
  exchange.bytes = bytes(elements * width->bytes);
  if (*op != CollectiveOp::send_recv) exchange.members = members_of(part[5], ranks);
  return exchange;
}

}  // namespace tilecast
