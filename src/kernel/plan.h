// How a library would run a kernel on a GPU: the launches, the tasks of each, and what every task demands.
//
//   kernel --plan--> launches of tasks --schedule--> load of the busiest SM --> bound and forecast
//
// A task is a CTA, or a work tile of a persistent CTA. Tasks with equal demands form one group, so a plan of a million
// CTAs is a few lines.
#pragma once

#include <array>
#include <cassert>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gpu/dtype.h"
#include "kernel/format.h"
#include "tilecast/units.h"

namespace tilecast {

// What work demands of each resource of an SM.
struct Demand {
  Ops tensor;      // tensor-pipe operations, a multiply-add is two; padding included
  Ops vector;      // FMA-pipe operations: every issue slot counts two, whether a multiply-add or a lone add
  Ops xu;          // special-function results
  Bytes shared;    // through shared memory, loads and stores
  Bytes l2_load;   // asked of L2
  Bytes l2_store;  // written to L2

  friend Demand operator+(const Demand& a, const Demand& b) {
    return {a.tensor + b.tensor, a.vector + b.vector,   a.xu + b.xu,
            a.shared + b.shared, a.l2_load + b.l2_load, a.l2_store + b.l2_store};
  }
  friend Demand operator*(const Demand& d, double n) {
    return {d.tensor * n, d.vector * n, d.xu * n, d.shared * n, d.l2_load * n, d.l2_store * n};
  }
  Demand& operator+=(const Demand& other) { return *this = *this + other; }
  friend bool operator==(const Demand&, const Demand&) = default;
};

struct TaskGroup {
  Count count = 0;
  Demand each;
  double steps = 1;  // dependent main-loop iterations of one task: what latency multiplies
};

// A piece of global memory a launch touches. Bytes are unique: re-reads are in the tasks' l2_load.
struct Operand {
  enum class Role : std::uint8_t {
    weight,      // parameters: cold inside a model
    activation,  // produced by the previous kernel: warm inside a model as far as it fits
    workspace,   // written and read back inside this plan
  };
  std::string_view name;
  Bytes size;
  Role role = Role::activation;
  bool read = true;
  bool written = false;
  // Bytes that every execution touches, if the shape does not determine which (experts with unknown routing); all of
  // them unless given. The bound counts these, the forecast `size`.
  std::optional<Bytes> certain{};
  // Times the launch streams it past the last cache before DRAM when nothing stays there, and the bytes that pass
  // between two such reads: a later read hits as far as they fit (estimate/residency.h). Once unless given.
  double passes = 1;
  Bytes reuse_distance{};
  // Bytes that every execution touches if the plan's own assumption holds (experts chosen evenly), if that is more than
  // `certain`: not for the bound, but for the learned part's features (estimate/features.h).
  std::optional<Bytes> assumed{};
  Bytes least() const { return certain.value_or(size); }
  Bytes least_assumed() const { return assumed.value_or(least()); }
};

// Up to eight operands without an allocation.
class Operands {
 public:
  void add(Operand operand) {
    assert(count_ < items_.size());
    items_[count_++] = operand;
  }
  std::span<const Operand> all() const { return {items_.data(), count_}; }
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }

 private:
  std::array<Operand, 8> items_{};
  std::size_t count_ = 0;
};

struct Tile {
  int m = 0, n = 0, k = 0;
};

// Resources of one CTA; they limit how many share an SM.
struct CtaShape {
  int threads = 128;
  int registers = 32;  // per thread
  Bytes shared_memory;
};

// How tasks are assigned to SMs.
enum class Dispatch : std::uint8_t {
  waves,          // the hardware hands CTAs out in launch order and refills an SM when one retires
  persistent,     // one resident CTA per slot walks the tiles with a fixed stride
  longest_first,  // a software heap gives the longest remaining task to the least loaded SM (FlashAttention 3)
};
enum class Order : std::uint8_t {
  grouped,      // all tasks of the first group, then all of the second ...
  interleaved,  // one task of each group in turn, then again
};

// What kind of inner loop a launch has; picks the constants of the forecast (estimate/physics.h).
enum class Character : std::uint8_t { product, attention, streaming, gather, scan };

struct Launch {
  std::string_view name;  // static text: "gemm", "split_k_reduce"
  Character character = Character::streaming;
  Tile tile;
  int split = 1;   // split-K or split-KV
  int stages = 1;  // software pipeline depth
  CtaShape cta;
  Count ctas = 0;  // grid size
  Dispatch dispatch = Dispatch::waves;
  Order order = Order::grouped;
  std::vector<TaskGroup> tasks;
  Operands operands;
  MathPath math;                    // of the products, where there are any
  double math_share = 1;            // of the pipe's usual rate, if the kernel has to use older instructions
  double joining_clocks = 0;        // not overlapped, beside the tasks: parts of a split are joined, atomics queue
  double epilogue_clocks = 0;       // of a task after its loop, one task of an SM after the other
  bool serial_steps = false;        // steps are clocks of the SM's pipes, which concurrent CTAs share
  DType vector_type = DType::fp32;  // type the vector pipe computes in
  // Operations no implementation of this kernel can avoid, whole GPU: no padding, no recomputation.
  Demand required;
  // True if the library's published logic fixes the plan; false if it is inferred. Only a known plan may tighten the
  // bound with its busiest SM.
  bool plan_known = true;

  Demand total() const {
    Demand sum;
    for (const TaskGroup& group : tasks) sum += group.each * static_cast<double>(group.count);
    return sum;
  }
  Count task_count() const {
    Count n = 0;
    for (const TaskGroup& group : tasks) n += group.count;
    return n;
  }
};

struct Plan {
  std::vector<Launch> launches;  // in stream order; the first is the main kernel unless a helper must precede it
};

}  // namespace tilecast
