#include "lab/fit/collective_fit.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cluster/collective_physics.h"
#include "cluster/registry.h"
#include "lab/evaluate/evaluate.h"
#include "support/statistics.h"

namespace tilecast {
namespace {

constexpr int kRounds = 4;
constexpr double kBendCharge = 0.05;              // on squared second differences, in rows
constexpr double kShrinkRows = 0.3;               // rows without a departure that every knot of a machine starts with
constexpr double kMostRows = 60;                  // of one machine and scheme: a dense sweep does not outvote the rest
constexpr double kShort = -1, kLong = 2.5;        // v below and above which a row tells of latency and of bandwidth
constexpr double kStep = 0.8;                     // of what is left, each round
constexpr double kMostResidual = 1;               // an octave: outliers pull no further
constexpr double kUsual = 0.25, kOwnUsual = 0.5;  // rows farther off a curve count less: single runs went astray

struct Point {
  MachineKey machine;
  CurveKey curve;
  std::string link;
  double v = 0, level = 0;  // log2(wire / empty), log2(measured / empty)
  double weight = 1;
};

SpreadKey spread_key_of(const CollectiveRow& row, const std::string& standing) {
  const Cluster& cluster = *built_in_cluster_of(row.gpu);
  return row.exchange ? spread_key(*row.exchange, cluster, standing) : spread_key(row.call, cluster, standing);
}

// Rows whose scheme is known and not hidden behind the host.
std::optional<Point> point_of(const CollectiveRow& row) {
  const Cluster* cluster = built_in_cluster_of(row.gpu);
  if (!cluster || row.call.eager) return std::nullopt;
  Flow flow;
  if (row.exchange) {
    flow = exchange_flow(*row.exchange, *cluster);
  } else if (row.call.library == CommLibrary::nccl) {
    flow = nccl_flow(row.call, *cluster);
  } else {
    const ShotLimits limits = shot_limits(row.call.library, row.call.ranks, cluster->gpu);
    if (row.call.bytes > limits.own_kernel) return std::nullopt;
    flow = shot_flow(row.call, *cluster, row.call.bytes > limits.one_shot);
  }
  Point point;
  point.machine = {row.gpu, row.source, flow.curve.library};
  point.curve = flow.curve;
  point.link = cluster->intra.kind == LinkKind::pcie ? "pcie" : "nvlink";
  point.v = std::log2(flow.wire / flow.empty);
  point.level = std::log2(row.measured / flow.empty);
  return point;
}

struct Sample {
  double x, y, weight;
};

// Solves a x = b for a symmetric positive matrix, in place.
std::vector<double> solve(std::vector<std::vector<double>> a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t row = i + 1; row < n; ++row) {
      const double factor = a[row][i] / a[i][i];
      if (factor == 0) continue;
      for (std::size_t column = i; column < n; ++column) a[row][column] -= factor * a[i][column];
      b[row] -= factor * b[i];
    }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t column = i + 1; column < n; ++column) b[i] -= a[i][column] * b[column];
    b[i] /= a[i][i];
  }
  return b;
}

// Straight pieces between whole numbers: a sample at x weighs on its two knots.
struct Knots {
  int first = 0;
  std::size_t count = 0;
  explicit Knots(const std::vector<Sample>& samples) {
    const auto [low, high] =
        std::minmax_element(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.x < b.x; });
    first = static_cast<int>(std::floor(low->x));
    count = static_cast<std::size_t>(static_cast<int>(std::floor(high->x)) - first) + 2;
  }
  std::pair<std::size_t, double> place(double x) const {  // the lower knot, the upper one's share
    const double below = std::floor(x);
    return {static_cast<std::size_t>(static_cast<int>(below) - first), x - below};
  }
};

// Weighted least squares among lists that never fall: neighbours that do are pooled.
std::vector<double> isotonic(const std::vector<double>& values, const std::vector<double>& weights) {
  struct Block {
    double value, weight;
    std::size_t count;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    blocks.push_back({values[i], weights[i], 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].value > blocks.back().value) {
      const Block last = blocks.back();
      blocks.pop_back();
      Block& into = blocks.back();
      into.value = (into.value * into.weight + last.value * last.weight) / (into.weight + last.weight);
      into.weight += last.weight;
      into.count += last.count;
    }
  }
  std::vector<double> out;
  for (const Block& block : blocks) out.insert(out.end(), block.count, block.value);
  return out;
}

Curve fit_once(const std::vector<Sample>& samples) {
  const Knots knots(samples);
  const std::size_t n = knots.count;
  std::vector<std::vector<double>> a(n, std::vector<double>(n, 0.0));
  std::vector<double> b(n, 0.0);
  for (const Sample& s : samples) {
    const auto [k, share] = knots.place(s.x);
    const double parts[2] = {1 - share, share};
    for (std::size_t i = 0; i < 2; ++i) {
      b[k + i] += s.weight * parts[i] * s.y;
      for (std::size_t j = 0; j < 2; ++j) a[k + i][k + j] += s.weight * parts[i] * parts[j];
    }
  }
  std::vector<double> weights(n);
  for (std::size_t i = 0; i < n; ++i) weights[i] = a[i][i] + 1e-3;
  constexpr double kBend[3] = {1, -2, 1};
  for (std::size_t k = 0; k + 2 < n; ++k)
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) a[k + i][k + j] += kBendCharge * kBend[i] * kBend[j];
  for (std::size_t i = 0; i < n; ++i) a[i][i] += 1e-9;
  return {knots.first, isotonic(solve(std::move(a), std::move(b)), weights)};
}

Curve fit_curve(std::vector<Sample> samples) {
  const Curve first = fit_once(samples);
  for (Sample& s : samples) {
    const double off = std::abs(s.y - curve_at(first, nullptr, s.x));
    s.weight *= std::min(1.0, kUsual / std::max(off, 1e-9));
  }
  return fit_once(samples);
}

// What a machine departs from `base` by; with it, the sum never falls either.
Curve fit_departure(const std::vector<Sample>& samples, const Curve& base) {
  const Knots knots(samples);
  std::vector<double> sums(knots.count, 0.0), weights(knots.count, kShrinkRows);
  for (const Sample& s : samples) {
    const auto [k, share] = knots.place(s.x);
    const double parts[2] = {1 - share, share};
    const double trust = std::pow(std::min(1.0, kOwnUsual / std::max(std::abs(s.y), 1e-9)), 2);
    for (std::size_t i = 0; i < 2; ++i) {
      sums[k + i] += trust * s.weight * parts[i] * s.y;
      weights[k + i] += trust * s.weight * parts[i];
    }
  }
  const auto base_at = [&](std::size_t i) {
    const int place = std::clamp(knots.first + static_cast<int>(i) - base.first, 0, base.last() - base.first);
    return base.values[static_cast<std::size_t>(place)];
  };
  std::vector<double> total(knots.count);
  for (std::size_t i = 0; i < knots.count; ++i) total[i] = base_at(i) + sums[i] / weights[i];
  total = isotonic(total, weights);
  for (std::size_t i = 0; i < knots.count; ++i) total[i] -= base_at(i);
  return {knots.first, std::move(total)};
}

struct Mean {
  double sum = 0, weight = 0;
  void add(double value, double w) { sum += value * w, weight += w; }
  double value() const { return weight > 0 ? sum / weight : 0; }
};

double x_of(const Point& p, const MachineScale& s) { return p.v - s.latency - s.bandwidth; }
double left_of(const Point& p, const CommConstants& c) {
  const MachineScale& scale = c.machines.at(p.machine);
  return p.level - scale.latency - curve_at(c.curves.at(p.curve), nullptr, x_of(p, scale));
}

void fit_curves(const std::vector<Point>& points, CommConstants& c) {
  std::map<CurveKey, std::vector<Sample>> samples;
  for (const Point& p : points) {
    const MachineScale& scale = c.machines[p.machine];
    samples[p.curve].push_back({x_of(p, scale), p.level - scale.latency, p.weight});
  }
  for (const auto& [key, list] : samples) c.curves[key] = fit_curve(list);
}

void move_scales(const std::vector<Point>& points, CommConstants& c) {
  std::map<MachineKey, std::pair<Mean, Mean>> left;
  for (const Point& p : points) {
    const double residual = std::clamp(left_of(p, c), -kMostResidual, kMostResidual);
    const double x = x_of(p, c.machines.at(p.machine));
    if (x < kShort) left[p.machine].first.add(residual, p.weight);
    if (x > kLong) left[p.machine].second.add(residual, p.weight);
  }
  std::map<std::pair<std::string, std::string>, std::pair<Mean, Mean>> centres;  // library and link
  for (auto& [key, scale] : c.machines) {
    scale.latency += kStep * left[key].first.value();
    scale.bandwidth -= kStep * left[key].second.value();
    auto& centre = centres[{key.library, scale.link}];
    centre.first.add(scale.latency, 1);
    centre.second.add(scale.bandwidth, 1);
  }
  // The curves carry what is common; machines differ around zero.
  for (auto& [key, scale] : c.machines) {
    const auto& centre = centres[{key.library, scale.link}];
    scale.latency -= centre.first.value();
    scale.bandwidth -= centre.second.value();
  }
}

void fit_departures(const std::vector<Point>& points, CommConstants& c) {
  std::map<std::pair<MachineKey, CurveKey>, std::vector<Sample>> samples;
  for (const Point& p : points)
    samples[{p.machine, p.curve}].push_back({x_of(p, c.machines.at(p.machine)), left_of(p, c), 1});
  for (const auto& [key, list] : samples) c.own[key] = fit_departure(list, c.curves.at(key.second));
}

void fit_hosts(const std::vector<CollectiveRow>& rows, CommConstants& c) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> times;
  for (const CollectiveRow& row : rows)
    if (row.call.eager && row.call.bytes <= kibibytes(64) && !is_held_out(row) && !is_apart(row))
      times[{row.gpu, std::string(name_of(row.call.library))}].push_back(in_microseconds(row.measured));
  for (auto& [key, list] : times) c.host_us[key] = median(std::move(list));
}

// Intervals of rows that `counts` accepts and whose forecasts had this standing; empty: any. Those of GPUs left out
// reach as far on both sides: which way the next GPU departs is unknown.
using Spreads = std::map<SpreadKey, CommSpread>;
template <class Counts>
Spreads spreads_of(const std::vector<CollectiveRow>& rows, const std::vector<CollectiveOutcome>& outcomes,
                   std::string_view standing, Counts&& counts) {
  std::map<SpreadKey, std::vector<double>> residuals;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_apart(rows[i]) || !counts(rows[i]) || (!standing.empty() && outcomes[i].standing != standing)) continue;
    const double residual = std::log2(rows[i].measured / outcomes[i].forecast);
    residuals[spread_key_of(rows[i], outcomes[i].standing)].push_back(standing.empty() ? residual : std::abs(residual));
  }
  Spreads spreads;
  for (auto& [key, list] : residuals) {
    if (standing.empty()) spreads[key] = {std::min(0.0, quantile(list, 0.1)), std::max(0.0, quantile(list, 0.9))};
    else spreads[key] = {-quantile(list, 0.8), quantile(list, 0.8)};
  }
  return spreads;
}

// Intervals for GPUs that were not measured, from all GPUs left out but one.
Spreads unseen_spreads(const CollectiveJudgement& judged, const std::string& except) {
  const auto counts = [&](const CollectiveRow& row) { return row.gpu != except; };
  Spreads spreads = spreads_of(judged.rows, judged.without_gpu, kAkin, counts);
  spreads.merge(spreads_of(judged.rows, judged.without_architecture, kAlone, counts));
  return spreads;
}

// Forecasts of every row by constants that saw no row of its group.
template <class GroupOf>
Result<std::vector<CollectiveOutcome>> forecast_leaving_out_each(const std::vector<CollectiveRow>& rows,
                                                                 GroupOf&& group_of) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) groups[group_of(rows[i])].push_back(i);
  std::vector<CollectiveOutcome> all(rows.size());
  for (const auto& [group, members] : groups) {
    std::vector<CollectiveRow> others, its;
    for (const CollectiveRow& row : rows) (group_of(row) == group ? its : others).push_back(row);
    auto outcomes = forecast_rows_of(its, fit_collectives(others));
    if (!outcomes) return std::move(outcomes).error();
    for (std::size_t k = 0; k < members.size(); ++k) all[members[k]] = std::move((*outcomes)[k]);
  }
  return all;
}

// A GPU's own rows never set the interval that is judged on them.
void set_unseen_intervals(CollectiveJudgement& judged) {
  std::map<std::string, CommConstants> without;
  for (const CollectiveRow& row : judged.rows)
    if (!without.contains(row.gpu)) without[row.gpu].spreads = unseen_spreads(judged, row.gpu);
  for (std::size_t i = 0; i < judged.rows.size(); ++i) {
    const CollectiveRow& row = judged.rows[i];
    for (CollectiveOutcome* o : {&judged.without_gpu[i], &judged.without_architecture[i]}) {
      const CommSpread spread = without[row.gpu].spread_of(spread_key_of(row, o->standing));
      o->low = std::max(o->bound, o->forecast * std::exp2(spread.low));
      o->high = o->forecast * std::exp2(spread.high);
    }
  }
}

}  // namespace

CommConstants fit_collectives(const std::vector<CollectiveRow>& rows) {
  std::vector<Point> points;
  for (const CollectiveRow& row : rows)
    if (!is_held_out(row) && !is_apart(row))
      if (auto point = point_of(row)) points.push_back(*std::move(point));
  std::map<std::pair<MachineKey, CurveKey>, double> counts;
  for (const Point& p : points) counts[{p.machine, p.curve}] += 1;
  CommConstants c;
  for (Point& p : points) {
    p.weight = std::min(1.0, kMostRows / counts[{p.machine, p.curve}]);
    c.machines[p.machine].link = p.link;
  }
  for (int round = 0; round < kRounds; ++round) {
    fit_curves(points, c);
    move_scales(points, c);
  }
  fit_curves(points, c);
  fit_departures(points, c);
  fit_hosts(rows, c);
  return c;
}

Result<std::vector<CollectiveOutcome>> forecast_rows_of(const std::vector<CollectiveRow>& rows,
                                                        const CommConstants& constants) {
  constexpr int kMostNodes = 64;  // of exchanges: their clusters are as large as they need
  std::map<std::string, Cluster> wide;
  std::vector<CollectiveOutcome> outcomes;
  outcomes.reserve(rows.size());
  for (const CollectiveRow& row : rows) {
    const Cluster* cluster = built_in_cluster_of(row.gpu);
    if (!cluster)
      return error("no built-in cluster has " + row.gpu, "describe one in data/clusters (docs/clusters.md)");
    if (row.exchange && !wide.contains(row.gpu)) wide.emplace(row.gpu, *cluster).first->second.nodes = kMostNodes;
    const auto forecast = row.exchange ? forecast_exchange(*row.exchange, wide.at(row.gpu), constants, row.source)
                                       : forecast_collective(row.call, *cluster, constants, row.source);
    if (!forecast) return forecast.error();
    outcomes.push_back({forecast->latency, forecast->low, forecast->high, forecast->bound, forecast->standing});
  }
  return outcomes;
}

Result<CollectiveJudgement> judge_collectives(std::vector<CollectiveRow> rows) {
  CollectiveJudgement judged;
  judged.rows = std::move(rows);
  judged.constants = fit_collectives(judged.rows);
  auto without_gpu = forecast_leaving_out_each(judged.rows, [](const CollectiveRow& row) { return row.gpu; });
  if (!without_gpu) return std::move(without_gpu).error();
  judged.without_gpu = *std::move(without_gpu);
  auto without_architecture = forecast_leaving_out_each(judged.rows, [](const CollectiveRow& row) {
    return std::string(name_of(built_in_cluster_of(row.gpu)->gpu.architecture));
  });
  if (!without_architecture) return std::move(without_architecture).error();
  judged.without_architecture = *std::move(without_architecture);
  const auto plain = forecast_rows_of(judged.rows, judged.constants);
  if (!plain) return plain.error();
  judged.constants.spreads =
      spreads_of(judged.rows, *plain, "", [](const CollectiveRow& row) { return is_held_out(row); });
  judged.constants.spreads.merge(unseen_spreads(judged, ""));
  set_unseen_intervals(judged);
  auto seen = forecast_rows_of(judged.rows, judged.constants);
  if (!seen) return std::move(seen).error();
  judged.seen = *std::move(seen);
  return judged;
}

}  // namespace tilecast
