#include "lab/train/carry.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "estimate/kept_share.h"

namespace tilecast {
namespace {

constexpr std::size_t kSteps = 20;  // shares that are tried, beside none
// What shares must save before they leave where they rest, in logarithms of error summed over architectures. Cards with
// siblings hardly feel it; of NeuSight's products, where shares from none to half do about equally well, it decides for
// the physics.
constexpr double kPull = 0.02;

double share_at(std::size_t step) { return static_cast<double>(step) / kSteps; }

// The mean error of a card's rows by share.
struct CardLoss {
  double likeness = 0, weight = 1;
  std::array<double, kSteps + 1> at = {};

  double operator()(double share) const {
    const double place = share * kSteps;
    const auto below = std::min(static_cast<std::size_t>(place), kSteps - 1);
    const double beyond = place - static_cast<double>(below);
    return at[below] * (1 - beyond) + at[below + 1] * beyond;
  }
};

CardLoss loss_of(const LeftOut& card) {
  CardLoss loss{card.likeness, card.weight, {}};
  double weights = 0, all = 0;
  for (std::size_t i = 0; i < card.data.rows(); ++i) {
    const double weight = card.data.weights[i] * (card.told.empty() ? 1.0f : card.told[i]);
    weights += weight, all += card.data.weights[i];
    for (std::size_t step = 0; step <= kSteps; ++step)
      loss.at[step] +=
          weight * std::abs(card.data.targets[i] - kept(card.learned[i], static_cast<float>(share_at(step))));
  }
  for (double& mean : loss.at) mean /= std::max(weights, 1e-9);
  loss.weight *= weights / std::max(all, 1e-9);
  return loss;
}

Carry fit(const std::vector<CardLoss>& cards) {
  Carry best;
  double least = 0;
  bool first = true;
  for (std::size_t near = 0; near <= kSteps; ++near)
    for (std::size_t far = 0; far <= kSteps; ++far) {
      const Carry carry{static_cast<float>(share_at(near)), static_cast<float>(share_at(far))};
      double loss = kPull * (1 - share_at(near)) + kPull * share_at(far);
      for (const CardLoss& card : cards) loss += card.weight * card(static_cast<double>(carry.share(card.likeness)));
      if (first || loss < least) best = carry, least = loss;
      first = false;
    }
  return best;
}

}  // namespace

Carries fit_carry(std::span<const LeftOut> judged) {
  std::map<std::string, std::vector<CardLoss>> vendors;
  for (const LeftOut& card : judged)
    if (card.data.rows() > 0) vendors[card.vendor].push_back(loss_of(card));
  Carries carries;
  for (const auto& [vendor, cards] : vendors) {
    Carry carry = fit(cards);
    // Nothing tells of cards of other chips where all that were judged are of the same.
    const auto is_like = [](const CardLoss& card) { return card.likeness > 0.5; };
    if (std::all_of(cards.begin(), cards.end(), is_like)) carry.far = 1;
    if (std::none_of(cards.begin(), cards.end(), is_like)) carry.near = 1;
    carries[vendor] = carry;
  }
  return carries;
}

BoostData leftovers(const LeftOut& judged, const Carries& carries) {
  const auto found = carries.find(judged.vendor);
  const float share = found == carries.end() ? 1 : found->second.share(judged.likeness);
  BoostData left = judged.data;
  for (std::size_t i = 0; i < left.rows(); ++i) left.targets[i] -= kept(judged.learned[i], share);
  return left;
}

}  // namespace tilecast
