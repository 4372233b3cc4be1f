#include <fmt/format.h>

#include "lab/fit/constants_fit.h"
#include "support/number.h"
#include "support/text.h"

namespace tilecast {
namespace {

constexpr std::string_view kFirstLine = "tilecast fit 1";

std::string key_of(const Tunable& c) { return fmt::format("{}|{}|{}", c.name, c.of, c.cards); }

Error bad_state(const std::string& problem) {
  return Error{"", "state", problem, "remove the file to start again, or name another"};
}

// The number after `word`.
Result<double> value_of(std::string_view line, std::string_view word) {
  if (!line.starts_with(word) || line.size() <= word.size() + 1)
    return bad_state(fmt::format("has no line '{}'", word));
  const auto value = number_between(line.substr(word.size() + 1), -1e18, 1e18);
  if (!value) return bad_state(fmt::format("'{}' is not a number", line.substr(word.size() + 1)));
  return *value;
}

}  // namespace

std::string state_text(const ConstantsFit& fit, std::string_view about) {
  std::string text = fmt::format("{}\nabout {}\npasses {}\nbefore {:.17g}\nloss {:.17g}\n", kFirstLine, about,
                                 fit.passes, fit.loss_before, fit.loss);
  for (const FittedConstant& f : fit.constants)
    text += fmt::format("{} {} {:.17g}\n", f.rows, key_of(*f.constant), f.value);
  return text;
}

Result<ConstantsFit> state_from(std::string_view text, std::string_view about) {
  const std::vector<std::string> lines = split(text, '\n');
  ConstantsFit fit = shipped_constants();
  constexpr std::size_t kHead = 5;
  if (lines.size() < kHead + fit.constants.size() || lines[0] != kFirstLine)
    return bad_state("is not the state of a fit of these constants");
  if (lines[1] != fmt::format("about {}", about)) return bad_state("belongs to another fit: '" + lines[1] + "'");
  const auto passes = value_of(lines[2], "passes");
  if (!passes) return passes.error();
  const auto before = value_of(lines[3], "before");
  if (!before) return before.error();
  const auto loss = value_of(lines[4], "loss");
  if (!loss) return loss.error();
  fit.passes = static_cast<int>(*passes), fit.loss_before = *before, fit.loss = *loss;
  for (std::size_t i = 0; i < fit.constants.size(); ++i) {
    const std::string& line = lines[kHead + i];
    FittedConstant& f = fit.constants[i];
    const std::size_t first = line.find(' '), last = line.rfind(' ');
    if (first == last || line.substr(first + 1, last - first - 1) != key_of(*f.constant))
      return bad_state("lists other constants than this program's");
    const auto rows = number_between(line.substr(0, first), 0.0, 1e12);
    const auto value = number_between(line.substr(last + 1), -1e18, 1e18);
    if (!rows || !value) return bad_state("'" + line + "' is not a constant");
    f.rows = static_cast<Count>(*rows), f.value = *value;
  }
  return fit;
}

}  // namespace tilecast
