// Experts on several GPUs: tokens go to the ranks that hold their experts (dispatch), and what the experts made of them
// comes back (combine). DeepEP's normal and low-latency kernels, TensorRT-LLM's all-to-all over NVLink.
//
// Bound and forecast are made as those of collectives (collective.h): bytes of a rank over its links, and a learned
// curve over the ratio of that time to what a message of no tokens takes.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "cluster/collective.h"
#include "cluster/collective_physics.h"

namespace tilecast {

enum class ExchangeKind : std::uint8_t {
  deepep,            // a token once to each rank; across nodes once to each node, then by NVLink
  deepep_ll,         // a token once for each of its experts
  trtllm_one_sided,  // as deepep, within NVLink
  trtllm_two_sided   // likewise, after a kernel that agrees on places (prepare)
};
inline constexpr std::array<std::string_view, 4> kExchangeKindNames = {"deepep", "deepep-ll", "trtllm-one-sided",
                                                                       "trtllm-two-sided"};
constexpr std::string_view name_of(ExchangeKind k) { return kExchangeKindNames[static_cast<std::size_t>(k)]; }
Result<ExchangeKind> exchange_kind_from(std::string_view name);  // "trtllm" is the one-sided

enum class ExchangeOp : std::uint8_t { dispatch, combine, prepare };
inline constexpr std::array<std::string_view, 3> kExchangeOpNames = {"dispatch", "combine", "prepare"};
constexpr std::string_view name_of(ExchangeOp op) { return kExchangeOpNames[static_cast<std::size_t>(op)]; }
Result<ExchangeOp> exchange_op_from(std::string_view name);

// Bytes of an element on the way: fp8 with a float for each 128, nvfp4 with a byte for each 16.
inline constexpr double kBf16Element = 2, kFp8Element = 1 + 4.0 / 128, kNvfp4Element = 0.5 + 1.0 / 16;

struct ExpertExchange {
  ExchangeKind kind = ExchangeKind::deepep;
  ExchangeOp op = ExchangeOp::dispatch;
  int tokens = 128;  // of a rank
  int hidden = 7168, topk = 8, experts = 256;
  int ranks = 8;             // they fill one node after the other
  double element_bytes = 0;  // 0: fp8 there, bf16 back
  int most_nodes = 0;        // that the experts of one token lie on (DeepSeek-V3: 4); 0: any
  bool balanced = false;     // a token's experts lie on as many ranks as they can; else they are drawn at random
  int sms = 20;              // that DeepEP's normal kernels get (Buffer.num_sms of DeepEP)
  double element() const {
    return element_bytes > 0 ? element_bytes : op == ExchangeOp::combine ? kBf16Element : kFp8Element;
  }
};

// Groups hit by `draws` different ones of `items`, in `groups` equal groups: the mean.
double distinct_groups(double draws, double items, double groups);

// Copies of a token that leave its rank, and its node, if each place gets one.
struct TokenCopies {
  int nodes = 1;
  double ranks = 0, other_ranks = 0, other_nodes = 0;
};
TokenCopies token_copies(const ExpertExchange& exchange, const Cluster& cluster);

Flow exchange_flow(const ExpertExchange& exchange, const Cluster& cluster);
Seconds exchange_bound(const ExpertExchange& exchange, const Cluster& cluster);
SpreadKey spread_key(const ExpertExchange& exchange, const Cluster& cluster, const std::string& standing);

// `bus_bandwidth` is what leaves a rank, each copy once, over the time.
Result<CollectiveForecast> forecast_exchange(const ExpertExchange& exchange, const Cluster& cluster,
                                             const CommConstants& constants, std::string_view source = kPlainSource);

}  // namespace tilecast
