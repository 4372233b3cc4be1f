// Conversations, classes, adapters, images: what requests may ask for beside their tokens.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "serve/workload.h"

namespace tilecast {
namespace {

// Each has random numbers of its own: lengths and arrivals stay what they are without it.
enum class Stream : std::uint64_t { conversations = 1, classes, adapters, class_lengths };
Random stream_of(std::uint64_t seed, Stream stream) {
  return Random(mixed(seed ^ mixed(static_cast<std::uint64_t>(stream))));
}

constexpr Count kMostTurns = 10'000'000;             // of all conversations together
constexpr Count kMostConversation = Count{1} << 30;  // tokens

}  // namespace

Status check(const ConversationOptions& o) {
  if (auto fine = check(o.turns, "turns"); !fine) return fine;
  if (auto fine = check(o.added, "turn-input"); !fine) return fine;
  if (!(o.think >= seconds(0))) return field_error("think-time", "must not be negative");
  if (!(o.tool >= seconds(0))) return field_error("tool-time", "must not be negative");
  if (!(o.tools >= 0) || o.tools > 1) return field_error("tool-share", "must lie between 0 and 1");
  return Ok{};
}

Result<std::vector<Request>> conversations_of(const std::vector<Request>& firsts, const ConversationOptions& o) {
  if (auto fine = check(o); !fine) return fine.error();
  Random random = stream_of(o.seed, Stream::conversations);
  std::vector<Request> requests;
  requests.reserve(firsts.size());
  std::size_t other = 0;  // a later turn's answer is as long as some first turn's
  for (const Request& first : firsts) {
    const Count turns = draw(o.turns, random);
    requests.push_back(first);
    for (Count t = 1; t < turns; ++t) {
      if (static_cast<Count>(requests.size()) >= kMostTurns)
        return field_error("turns", fmt::format("there are more than {} turns in all", kMostTurns),
                           "fewer num-prompts");
      Request next = requests.back();
      next.after = static_cast<std::int32_t>(requests.size() - 1), next.history = true;
      next.input += next.output + draw(o.added, random);
      if (next.input > kMostConversation) break;
      other = (other + 1) % firsts.size();
      next.output = firsts[other].output;
      const bool by_tool = o.tools > 0 && random.uniform() < o.tools;
      const Seconds mean = by_tool ? o.tool : o.think;
      next.pause = mean > seconds(0) ? mean * random.exponential() : seconds(0);
      requests.push_back(next);
    }
  }
  return requests;
}

namespace {

// A class as its requests are made.
struct DrawnClass {
  std::optional<LengthDistribution> input, output;
};
Result<std::vector<DrawnClass>> drawn_classes(const std::vector<RequestClass>& classes) {
  std::vector<DrawnClass> drawn(classes.size());
  const auto read = [](const std::string& text, std::optional<LengthDistribution>& lengths) -> Status {
    if (text.empty()) return Ok{};
    auto given = lengths_from(text, "classes");
    if (!given) return std::move(given).error();
    lengths = *given;
    return Ok{};
  };
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (auto fine = read(classes[i].input, drawn[i].input); !fine) return fine.error();
    if (auto fine = read(classes[i].output, drawn[i].output); !fine) return fine.error();
  }
  return drawn;
}

}  // namespace

Status give_classes(std::vector<Request>& requests, const std::vector<RequestClass>& classes, bool drawn,
                    bool own_priorities, std::uint64_t seed) {
  if (classes.empty()) return Ok{};
  double sum = 0;
  for (const RequestClass& c : classes) sum += c.share;
  if (!(sum > 0)) return field_error("classes", "their shares must add up to more than nothing");
  const auto lengths = drawn_classes(classes);
  if (!lengths) return lengths.error();
  Random random = stream_of(seed, Stream::classes), of_lengths = stream_of(seed, Stream::class_lengths);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request& r = requests[i];
    if (drawn && r.after >= 0) {
      r.group = requests[static_cast<std::size_t>(r.after)].group;
    } else if (drawn) {
      double at = random.uniform() * sum;
      r.group = 0;
      while (static_cast<std::size_t>(r.group) + 1 < classes.size() &&
             at >= classes[static_cast<std::size_t>(r.group)].share)
        at -= classes[static_cast<std::size_t>(r.group++)].share;
    }
    const auto group = static_cast<std::size_t>(r.group);
    if (group >= classes.size())
      return field_error("classes", fmt::format("request {} is of class {}; there are {}", i, group, classes.size()));
    if (!own_priorities) r.priority = classes[group].priority;
    r.guided = classes[group].guided;
    const DrawnClass& own = (*lengths)[group];
    if (drawn && own.input) r.input = std::max(draw(*own.input, of_lengths), r.prefix_tokens + 1);
    if (drawn && own.output) r.output = draw(*own.output, of_lengths);
  }
  return Ok{};
}

void give_adapters(std::vector<Request>& requests, Count count, std::uint64_t seed) {
  if (count <= 0) return;
  Random random = stream_of(seed, Stream::adapters);
  for (Request& r : requests)
    r.adapter = r.after >= 0 ? requests[static_cast<std::size_t>(r.after)].adapter
                             : static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(count)));
}

void bound_answers(std::vector<Request>& requests, Count most) {
  if (most <= 0) return;
  for (Request& r : requests) {
    r.most_output = r.most_output > 0 ? std::min(r.most_output, most) : most;
    r.output = std::min(r.output, r.most_output);
  }
}

void add_media(std::vector<Request>& requests, Count each, Count tokens) {
  for (Request& r : requests) {
    const bool later = r.after >= 0 && r.history;
    if (r.media == 0 && !later) r.media = static_cast<std::int32_t>(each);
    // A turn's history holds what was shown before it; keys of that are found again or encoded anew.
    const Request* before = later ? &requests[static_cast<std::size_t>(r.after)] : nullptr;
    const Count own = r.media * tokens;
    r.fresh_media = r.media;
    r.media_tokens = static_cast<std::int32_t>(own + (before ? before->media_tokens : 0));
    if (before) r.media += before->media;
    r.input += r.media_tokens;
  }
}

}  // namespace tilecast
