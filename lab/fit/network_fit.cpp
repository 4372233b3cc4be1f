#include "lab/fit/network_fit.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "cluster/fabric.h"
#include "cluster/network.h"
#include "lab/fit/collective_fit.h"
#include "support/input.h"
#include "support/statistics.h"

namespace tilecast {
namespace {

constexpr int kFitRounds = 3;
constexpr double kLeavingCharge = 0.02;  // on squared log2 of what is assumed
constexpr double kReach = 1.5;           // log2 either way of where a search starts
constexpr int kSearchSteps = 14;
constexpr std::size_t kRowsOfCall = 40;  // of one network and call: even in their sizes
constexpr int kBetweenKnots = 8;         // at which times are checked never to fall
constexpr double kRaise = 0.02;          // log2, where they did

using CallKey = std::tuple<std::string, CollectiveOp, int, int>;  // network, op, nodes, local
CallKey call_key(const NetworkRow& row) { return {row.network, row.call.op, row.nodes, row.local}; }

// Rows with their clusters and what these are told.
struct Told {
  const NetworkRow* row;
  const Cluster* cluster;
};

Result<Seconds> time_of_row(const Told& told, const CommConstants& constants) {
  const auto forecast = forecast_collective(told.row->call, *told.cluster, constants);
  if (!forecast) return forecast.error();
  return forecast->latency;
}

// Rows that are not held out, evenly over sizes.
std::vector<Told> thinned(const std::vector<Told>& all) {
  std::map<CallKey, std::vector<Told>> calls;
  for (const Told& told : all)
    if (told.row->nodes > 1 && !is_held_out(*told.row)) calls[call_key(*told.row)].push_back(told);
  std::vector<Told> few;
  for (auto& [key, list] : calls) {
    std::stable_sort(list.begin(), list.end(),
                     [](const Told& a, const Told& b) { return a.row->call.bytes < b.row->call.bytes; });
    const std::size_t count = std::min(kRowsOfCall, list.size());
    for (std::size_t i = 0; i < count; ++i) few.push_back(list[i * list.size() / count]);
  }
  return few;
}

// Mean over networks of the mean over their calls.
double misfit(const std::vector<Told>& rows, const CommConstants& constants) {
  std::map<CallKey, std::pair<double, int>> calls;
  for (const Told& told : rows) {
    const auto time = time_of_row(told, constants);
    if (!time) continue;
    auto& [sum, count] = calls[call_key(*told.row)];
    sum += std::abs(std::log2(*time / told.row->measured)), ++count;
  }
  std::map<std::string, std::pair<double, int>> networks;
  for (const auto& [key, mean] : calls) {
    auto& [sum, count] = networks[std::get<0>(key)];
    sum += mean.first / mean.second, ++count;
  }
  double all = 0;
  for (const auto& [name, mean] : networks) all += mean.first / mean.second;
  return networks.empty() ? 0 : all / static_cast<double>(networks.size());
}

// The least of f on [low, high], by golden sections.
template <class F>
double least_place(double low, double high, F&& f) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double a = high - golden * (high - low), b = low + golden * (high - low), fa = f(a), fb = f(b);
  for (int step = 0; step < kSearchSteps; ++step) {
    if (fa <= fb) high = b, b = a, fb = fa, a = high - golden * (high - low), fa = f(a);
    else low = a, a = b, fa = fb, b = low + golden * (high - low), fb = f(b);
  }
  return (low + high) / 2;
}

NetworkConstants fit_figures(const std::vector<Told>& rows, CommConstants constants) {
  const NetworkConstants assumed;
  constants.network = assumed;
  for (int round = 0; round < kFitRounds; ++round)
    for (const auto& [name, member] : kNetworkFigures) {
      const double start = std::log2(constants.network.*member), prior = std::log2(assumed.*member);
      const auto cost = [&, member = member](double at) {
        constants.network.*member = std::exp2(at);
        return misfit(rows, constants) + kLeavingCharge * (at - prior) * (at - prior);
      };
      constants.network.*member = std::exp2(least_place(start - kReach, start + kReach, cost));
    }
  return constants.network;
}

double weighted_median(std::vector<std::pair<double, double>> values) {  // value, weight
  std::sort(values.begin(), values.end());
  double half = 0;
  for (const auto& [value, weight] : values) half += weight / 2;
  for (const auto& [value, weight] : values)
    if ((half -= weight) <= 0) return value;
  return values.back().first;
}

// One call of one network: what it departs from physics by, at half octaves; with it, times never fall either.
class Departure {
 public:
  Departure(const std::vector<Told>& rows, const CommConstants& physics) : rows_(rows), physics_(physics) {}

  Result<Curve> fit() {
    for (const Told& told : rows_) {
      const auto time = time_of_row(told, physics_);
      if (!time) return time.error();
      samples_.emplace_back(2 * std::log2(in_bytes(told.row->call.bytes)), std::log2(told.row->measured / *time));
    }
    const auto [low, high] = std::minmax_element(samples_.begin(), samples_.end());
    curve_.first = static_cast<int>(std::floor(low->first));
    const int last = static_cast<int>(std::ceil(high->first));
    for (int knot = curve_.first; knot <= last; ++knot) curve_.values.push_back(at_knot(knot));
    fill_gaps();
    if (auto done = never_fall(); !done) return std::move(done).error();
    return curve_;
  }

 private:
  static constexpr double kNothing = -1e9;

  double at_knot(int knot) const {
    std::vector<std::pair<double, double>> near;
    for (const auto& [x, y] : samples_)
      if (std::abs(x - knot) < 1) near.emplace_back(y, 1 - std::abs(x - knot));
    return near.empty() ? kNothing : weighted_median(std::move(near));
  }

  void fill_gaps() {
    std::vector<double>& v = curve_.values;
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (v[i] != kNothing) continue;
      std::size_t next = i;
      while (next < v.size() && v[next] == kNothing) ++next;
      if (i == 0) v[i] = v[next];
      else if (next == v.size()) v[i] = v[i - 1];
      else v[i] = v[i - 1] + (v[next] - v[i - 1]) / static_cast<double>(next - i + 1);
    }
  }

  Result<double> log_time(double x, double departs) const {
    NetworkRow row = *rows_.front().row;
    row.call.bytes = bytes(std::exp2(x / 2));
    const auto time = time_of_row({&row, rows_.front().cluster}, physics_);
    if (!time) return time.error();
    return std::log2(in_seconds(*time)) + departs;
  }

  // Raises a knot until times rise all the way to it.
  Status never_fall() {
    for (std::size_t i = 1; i < curve_.values.size(); ++i)
      while (true) {
        const auto falls = falls_before(i);
        if (!falls) return falls.error();
        if (!*falls) break;
        curve_.values[i] += kRaise;
      }
    return Ok{};
  }
  Result<bool> falls_before(std::size_t i) const {
    const double from = curve_.values[i - 1], to = curve_.values[i];
    double last = -1e9;
    for (int part = 0; part <= kBetweenKnots; ++part) {
      const double share = static_cast<double>(part) / kBetweenKnots;
      const auto time = log_time(curve_.first + static_cast<double>(i) - 1 + share, from + share * (to - from));
      if (!time) return time.error();
      if (*time < last - 1e-9) return true;
      last = *time;
    }
    return false;
  }

  const std::vector<Told>& rows_;
  const CommConstants& physics_;
  std::vector<std::pair<double, double>> samples_;
  Curve curve_;
};

Result<std::map<NetworkConstants::Key, Curve>> fit_departures_of(const std::vector<Told>& all,
                                                                 const CommConstants& physics) {
  std::map<NetworkConstants::Key, std::vector<Told>> calls;
  for (const Told& told : all)
    if (told.row->nodes > 1 && !is_held_out(*told.row)) {
      NetworkConstants::Key key = crossed_key(told.row->call, *told.cluster);
      key.network = told.row->network;
      calls[key].push_back(told);
    }
  std::map<NetworkConstants::Key, Curve> own;
  for (const auto& [key, rows] : calls) {
    auto curve = Departure(rows, physics).fit();
    if (!curve) return std::move(curve).error();
    own[key] = *std::move(curve);
  }
  return own;
}

std::map<std::string, BytesPerSecond> pairs_of(const std::vector<NetworkRow>& rows) {
  std::map<std::string, double> longest;
  const auto pair = [](const NetworkRow& r) {
    return r.nodes == 2 && r.local == 1 && r.call.op == CollectiveOp::send_recv;
  };
  for (const NetworkRow& row : rows)
    if (pair(row)) longest[row.network] = std::max(longest[row.network], in_bytes(row.call.bytes));
  std::map<std::string, std::vector<double>> rates;
  for (const NetworkRow& row : rows)
    if (pair(row) && in_bytes(row.call.bytes) >= longest[row.network] / 2)
      rates[row.network].push_back((row.call.bytes / row.measured).base());
  std::map<std::string, BytesPerSecond> pairs;
  for (auto& [name, list] : rates) pairs[name] = BytesPerSecond::from_base(median(std::move(list)));
  return pairs;
}

CommSpread spread_of_residuals(std::vector<double> residuals) {
  if (residuals.empty()) return {-1, 1};
  return {std::min(0.0, quantile(residuals, 0.1)), std::max(0.0, quantile(residuals, 0.9))};
}

// Judges step by step; every part needs the ones before it.
class Judge {
 public:
  Judge(NetworkRows rows, const CommConstants& within) : within_(within) { judged_.data = std::move(rows); }

  Result<NetworkJudgement> run() && {
    judged_.pairs = pairs_of(judged_.data.rows);
    if (auto done = tell(); !done) return std::move(done).error();
    judged_.constants = fit_figures(thinned(told_), within_);
    for (const auto& [name, pair] : judged_.pairs) judged_.without[name] = fit_figures(thinned(others(name)), within_);
    CommConstants physics = within_;
    physics.network = judged_.constants;
    auto own = fit_departures_of(told_, physics);
    if (!own) return std::move(own).error();
    judged_.constants.own = *std::move(own);
    if (auto done = forecast(); !done) return std::move(done).error();
    set_spreads();
    return std::move(judged_);
  }

 private:
  Status tell() {
    for (const NetworkRow& row : judged_.data.rows) {
      const auto pair = judged_.pairs.find(row.network);
      if (pair == judged_.pairs.end()) return error("no pair of " + row.network + " was measured");
      const auto key = std::pair(row.network, row.nodes);
      if (!clusters_.contains(key)) {
        auto cluster = told_cluster(row.network, row.nodes, pair->second);
        if (!cluster) return std::move(cluster).error();
        clusters_.emplace(key, *std::move(cluster));
      }
    }
    for (const NetworkRow& row : judged_.data.rows) told_.push_back({&row, &clusters_.at({row.network, row.nodes})});
    return Ok{};
  }

  std::vector<Told> others(const std::string& name) const {
    std::vector<Told> list;
    for (const Told& told : told_)
      if (told.row->network != name) list.push_back(told);
    return list;
  }

  Status forecast() {
    CommConstants seen = within_, without = within_;
    seen.network = judged_.constants;
    for (const Told& told : told_) {
      Cluster measured = *told.cluster;
      measured.inter->measured_as = told.row->network;
      without.network = judged_.without.at(told.row->network);
      if (auto done = add_outcome(*told.row, measured, seen, judged_.seen); !done) return done;
      if (auto done = add_outcome(*told.row, *told.cluster, without, judged_.left_out); !done) return done;
    }
    return Ok{};
  }

  static Status add_outcome(const NetworkRow& row, const Cluster& cluster, const CommConstants& constants,
                            std::vector<NetworkOutcome>& into) {
    const auto f = forecast_collective(row.call, cluster, constants);
    if (!f) return f.error();
    into.push_back({f->latency, f->low, f->high, f->bound});
    return Ok{};
  }

  // Residuals of rows between nodes, for all networks but one; no dense sweep outvotes the rest.
  CommSpread spread(const std::vector<NetworkOutcome>& outcomes, bool held_out, const std::string& except) const {
    std::map<CallKey, std::vector<std::size_t>> calls;
    for (std::size_t i = 0; i < told_.size(); ++i) {
      const NetworkRow& row = *told_[i].row;
      if (row.nodes > 1 && row.network != except && (!held_out || is_held_out(row))) calls[call_key(row)].push_back(i);
    }
    std::vector<double> residuals;
    for (const auto& [key, list] : calls) {
      const std::size_t count = std::min(kRowsOfCall, list.size());
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = list[i * list.size() / count];
        residuals.push_back(std::log2(told_[at].row->measured / outcomes[at].forecast));
      }
    }
    return spread_of_residuals(std::move(residuals));
  }

  // A network's own rows never set the interval that is judged on them.
  void set_spreads() {
    judged_.spreads[{"nccl", "network", kBetween}] = spread(judged_.left_out, false, "");
    judged_.spreads[{"nccl", "network", kNetwork}] = spread(judged_.seen, true, "");
    std::map<std::string, CommSpread> others;
    for (const auto& [name, pair] : judged_.pairs) others[name] = spread(judged_.left_out, false, name);
    const CommSpread sizes = judged_.spreads.at({"nccl", "network", kNetwork});
    for (std::size_t i = 0; i < told_.size(); ++i) {
      const double wide = told_[i].row->nodes > 1 ? congestion_width(*told_[i].cluster->inter, told_[i].row->nodes) : 0;
      for (const auto& [o, s] :
           {std::pair(&judged_.left_out[i], others.at(told_[i].row->network)), std::pair(&judged_.seen[i], sizes)}) {
        if (told_[i].row->nodes == 1) continue;
        o->low = std::max(o->bound, o->forecast * std::exp2(s.low - wide));
        o->high = o->forecast * std::exp2(s.high + wide);
      }
    }
  }

  NetworkJudgement judged_;
  const CommConstants& within_;
  std::map<std::pair<std::string, int>, Cluster> clusters_;
  std::vector<Told> told_;
};

}  // namespace

Result<Cluster> told_cluster(const std::string& network, int nodes, BytesPerSecond pair) {
  auto cluster = nodes_like(network, nodes);
  if (!cluster) return cluster;
  return with_pair(*std::move(cluster), pair);
}

Status judge_between_nodes(const std::string& folder, CollectiveJudgement& judged) {
  if (!something_at(folder + "/collectives/collectives.csv.gz")) return Ok{};
  auto rows = read_network_rows(folder);
  if (!rows) return std::move(rows).error();
  auto networks = judge_networks(*std::move(rows), judged.constants);
  if (!networks) return std::move(networks).error();
  judged.constants.network = networks->constants;
  for (const auto& [key, spread] : networks->spreads) judged.constants.spreads[key] = spread;
  judged.networks = *std::move(networks);
  return Ok{};
}

Result<NetworkJudgement> judge_networks(NetworkRows rows, const CommConstants& within) {
  return Judge(std::move(rows), within).run();
}

}  // namespace tilecast
