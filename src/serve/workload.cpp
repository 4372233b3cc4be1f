#include "serve/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/amount.h"
#include "support/random.h"
#include "support/text.h"

namespace tilecast {
namespace {

// No prompt, answer or number of requests is larger.
constexpr Count kMostTokens = Count{1} << 30;
constexpr Count kMostRequests = 10'000'000;

}  // namespace

Count draw(const LengthDistribution& lengths, Random& random) {
  const auto mean = static_cast<double>(lengths.mean);
  double value = mean;
  if (lengths.kind == LengthDistribution::Kind::uniform) {
    const double low = std::floor(mean * (1 - lengths.spread)), high = std::ceil(mean * (1 + lengths.spread));
    value = low + std::floor(random.uniform() * (high - low + 1));
  } else if (lengths.kind == LengthDistribution::Kind::lognormal) {
    const double variance = std::log1p(lengths.spread * lengths.spread);
    value = std::round(mean * std::exp(std::sqrt(variance) * random.normal() - variance / 2));
  }
  return static_cast<Count>(std::clamp(value, 1.0, static_cast<double>(kMostTokens)));
}

namespace {

// All but the lengths.
Status check_arrivals(const WorkloadOptions& o) {
  if (o.requests < 0 || o.requests > kMostRequests)
    return field_error("num-prompts", fmt::format("must lie between 0 and {}, not {}", kMostRequests, o.requests),
                       "for example 1000");
  if (o.rate != 0 && (!(o.rate >= kLeastRate) || !(o.rate <= kMostRate)))
    return field_error(
        "rate",
        fmt::format("must lie between {:g} and {:g} requests a second, not {:g}", kLeastRate, kMostRate, o.rate),
        "without it all come at once");
  if (!(o.burstiness > 0) || !(o.burstiness <= 1e6))
    return field_error("burstiness", fmt::format("must be above 0, not {}", o.burstiness), "1 is Poisson");
  if (o.prefixes < 0 || o.prefix_tokens < 0 || (o.prefixes > 0) != (o.prefix_tokens > 0))
    return field_error("prefixes", "needs both a number of prefixes and their length", "give prefix-tokens too");
  return Ok{};
}

}  // namespace

Status check(const LengthDistribution& l, const char* field) {
  if (l.mean < 1 || l.mean > kMostTokens)
    return field_error(field, fmt::format("must lie between 1 and {}, not {}", kMostTokens, l.mean),
                       "for example 1024");
  const bool uniform = l.kind == LengthDistribution::Kind::uniform;
  if (!(l.spread >= 0) || l.spread > (uniform ? 1 : 100))
    return field_error(field, fmt::format("its spread must lie between 0 and {}, not {}", uniform ? 1 : 100, l.spread),
                       "for example uniform:1024:0.5");
  return Ok{};
}

namespace {

// Arrivals one after the other. Gaps of a gamma distribution keep the rate whatever its shape.
class Clock {
 public:
  Clock(const WorkloadOptions& o, Random& random) : o_(o), random_(random) {}
  Seconds next() {
    const Seconds now = at_;
    if (o_.rate > 0) {
      const double gap = o_.burstiness == 1 ? random_.exponential() : random_.gamma(o_.burstiness) / o_.burstiness;
      at_ += seconds(gap / o_.rate);
    }
    return now;
  }

 private:
  const WorkloadOptions& o_;
  Random& random_;
  Seconds at_;
};

void add_prefix(Request& r, const WorkloadOptions& o, Random& random) {
  if (o.prefixes == 0) return;
  r.prefix = static_cast<Count>(random.below(static_cast<std::uint64_t>(o.prefixes)));
  r.prefix_tokens = std::min(o.prefix_tokens, r.input);
}

Count scaled(Count length, double factor) {
  return static_cast<Count>(
      std::clamp(std::round(static_cast<double>(length) * factor), 1.0, static_cast<double>(kMostTokens)));
}

}  // namespace

Result<LengthDistribution> lengths_from(std::string_view text, const char* field) {
  const std::vector<std::string> parts = split(text, ':');
  const auto bad = [&] {
    return field_error(field, fmt::format("'{}' is not a length", text),
                       amount_remedy(text, "1024, uniform:1024:0.5 or lognormal:1024:0.8"));
  };
  LengthDistribution lengths;
  std::string_view mean = parts.front();
  if (parts.size() == 3) {
    if (parts[0] == "uniform") lengths.kind = LengthDistribution::Kind::uniform;
    else if (parts[0] == "lognormal") lengths.kind = LengthDistribution::Kind::lognormal;
    else return bad();
    mean = parts[1];
    const auto spread = amount_from(parts[2]);
    if (!spread) return bad();
    lengths.spread = *spread;
  } else if (parts.size() != 1) {
    return bad();
  }
  const auto read = whole_amount_from(mean);
  if (!read) return bad();
  lengths.mean = *read;
  if (auto fine = check(lengths, field); !fine) return fine.error();
  return lengths;
}

Status check(const WorkloadOptions& o) {
  if (auto fine = check_arrivals(o); !fine) return fine;
  if (auto fine = check(o.input, "input"); !fine) return fine;
  return check(o.output, "output");
}

Result<std::vector<Request>> generate(const WorkloadOptions& o) {
  if (auto fine = check(o); !fine) return fine.error();
  Random random(o.seed);
  Clock clock(o, random);
  std::vector<Request> requests(static_cast<std::size_t>(o.requests));
  for (Request& r : requests) {
    r.arrival = clock.next();
    r.input = draw(o.input, random);
    r.output = draw(o.output, random);
    add_prefix(r, o, random);
  }
  return requests;
}

Result<std::vector<Request>> resampled(const std::vector<Request>& sample, double mean_input, double mean_output,
                                       const WorkloadOptions& o) {
  if (auto fine = check_arrivals(o); !fine) return fine.error();
  if (sample.empty()) return error("there are no requests to draw lengths from");
  if (!(mean_input >= 1) || !(mean_output >= 1)) return error("mean lengths must be at least one token");
  Random random(o.seed);
  Clock clock(o, random);
  std::vector<Request> requests(static_cast<std::size_t>(o.requests));
  double input = 0, output = 0;
  for (Request& r : requests) {
    r = sample[random.below(sample.size())];
    input += static_cast<double>(r.input), output += static_cast<double>(r.output);
  }
  const auto n = static_cast<double>(requests.size());
  for (Request& r : requests) {
    r = Request{clock.next(), scaled(r.input, mean_input * n / input), scaled(r.output, mean_output * n / output)};
    add_prefix(r, o, random);
  }
  return requests;
}

}  // namespace tilecast
