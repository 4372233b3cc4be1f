#include <algorithm>
#include <chrono>
#include <thread>

#include "sweep.h"

namespace {

// After a case that met the power limit, so that the next one starts at the highest clock.
constexpr std::chrono::milliseconds kPause{80};
constexpr double kNearHighest = 0.97;
constexpr double kSettleShare = 0.4;  // of a sustained load, before its times count

constexpr double kRotations = 3;  // times the L2 cache: what cold sets must come to
constexpr int kMostSets = 64, kMostCopies = 256;
constexpr double kGraphUs = 1300;  // aimed length of one replay
constexpr std::size_t kAlign = 512;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// Bytes of a case's tensors, and its launch on one set of them.
struct Work {
  std::size_t first = 0, second = 0, out = 0;
  Fill fill = Fill::bf16;
  std::function<std::optional<const char*>(char* first, char* second, char* out)> launch;

  std::size_t in_bytes() const { return aligned(first) + aligned(second); }
  std::size_t out_bytes() const { return aligned(out); }
};

Number number_of(const std::string& dtype) {
  if (dtype == "fp16") return Number::fp16;
  if (dtype == "tf32") return Number::tf32;
  if (dtype == "fp32") return Number::fp32;
  return dtype == "fp8_static" ? Number::fp8 : Number::bf16;
}

Fill fill_of(const std::string& dtype) {
  if (dtype == "fp16") return Fill::fp16;
  if (dtype == "fp8_static") return Fill::fp8;
  return dtype == "bf16" ? Fill::bf16 : Fill::fp32;
}

Work product_work(Bench& bench, const Case& item) {
  const Size size{item.dim("m"), item.dim("n"), item.dim("k"), item.dim("batch")};
  const Number type = number_of(item.dtype);
  Work work;
  work.first = static_cast<std::size_t>(size.batch * size.m * size.k) * bytes_in(type);
  work.second = static_cast<std::size_t>(size.batch * size.n * size.k) * bytes_in(type);
  work.out = static_cast<std::size_t>(size.batch * size.m * size.n) * bytes_out(type);
  work.launch = [&bench, type, size](char* x, char* w, char* y) { return bench.matmul.run(type, size, x, w, y); };
  return work;
}

Work rows_work(Bench& bench, const Case& item) {
  const Rows size{static_cast<int>(item.dim("rows")), static_cast<int>(item.dim("cols"))};
  const Type type = item.dtype == "bf16" ? Type::bf16 : Type::fp32;
  const cudaStream_t stream = bench.timer.stream();
  const std::size_t whole = static_cast<std::size_t>(size.rows) * static_cast<std::size_t>(size.cols) * bytes_of(type);
  Work work{whole, static_cast<std::size_t>(size.cols) * bytes_of(type), whole, {}, {}};
  const auto as_launch = [&](auto run) {
    work.launch = [run](char* in, char* weight, char* out) {
      run(in, weight, out);
      return std::optional<const char*>();
    };
  };
  if (item.family == "rmsnorm")
    as_launch([=](char* in, char* weight, char* out) { rmsnorm(type, in, weight, out, size, stream); });
  if (item.family == "softmax") as_launch([=](char* in, char*, char* out) { softmax(type, in, out, size, stream); });
  if (item.family == "reduction") {
    work.out = static_cast<std::size_t>(size.rows) * bytes_of(type);
    as_launch([=](char* in, char*, char* out) { row_sum(type, in, out, size, stream); });
  }
  if (item.family == "gated_activation") {
    work.first = 2 * whole;
    as_launch([=](char* in, char*, char* out) { gated_silu(in, out, size, stream); });
  }
  return work;
}

Work flat_work(Bench& bench, const Case& item) {
  const auto elements = static_cast<std::size_t>(item.dim("elements"));
  const Type type = item.dtype == "bf16" ? Type::bf16 : Type::fp32;
  const std::size_t whole = elements * bytes_of(type);
  const cudaStream_t stream = bench.timer.stream();
  Work work{whole, item.op == "add" ? whole : 0, whole, {}, {}};
  work.launch = [=, op = item.op](char* a, char* b, char* out) -> std::optional<const char*> {
    if (op == "add") add(type, a, b, out, elements, stream);
    else if (op == "silu") silu(type, a, out, elements, stream);
    else if (cudaMemcpyAsync(out, a, whole, cudaMemcpyDeviceToDevice, stream) != cudaSuccess) return "copy refused";
    return std::nullopt;
  };
  return work;
}

Work work_of(Bench& bench, const Case& item) {
  const bool is_product = item.family == "gemm" || item.family == "bmm";
  const bool is_flat = item.family == "elementwise" || item.family == "copy";
  Work work = is_product ? product_work(bench, item) : is_flat ? flat_work(bench, item) : rows_work(bench, item);
  work.fill = fill_of(item.dtype);
  return work;
}

// Sets of tensors: together kRotations times the L2, or as many as allowed with a flush before each replay.
struct Layout {
  int sets = 1, copies = 1;
  bool flush = false;
};

Layout layout_of(const Case& item, const Work& work, double guess_us, const Bench& bench) {
  Layout layout;
  const int wanted_copies = std::clamp(static_cast<int>(kGraphUs / guess_us), 1, kMostCopies);
  if (item.warm) return {1, wanted_copies, false};
  const double wanted = kRotations * bench.card.l2_bytes / static_cast<double>(work.in_bytes() + work.out_bytes());
  const std::size_t fitting = bench.arena.bytes() / std::max(work.in_bytes(), work.out_bytes());
  layout.sets = static_cast<int>(
      std::clamp<std::size_t>(static_cast<std::size_t>(wanted) + 1, 1, std::min<std::size_t>(fitting, kMostSets)));
  layout.flush = wanted > kMostSets;
  const int rounds = layout.flush ? 1 : std::max(1, wanted_copies / layout.sets);
  layout.copies = layout.sets * rounds;
  return layout;
}

// Empty if it was measured, otherwise why not.
std::optional<std::string> measure(Bench& bench, const Case& item, Sample& sample) {
  const Work work = work_of(bench, item);
  if (std::max(work.in_bytes(), work.out_bytes()) > bench.arena.bytes())
    return "needs more memory than the card has to spare";
  bench.arena.fill_with(work.fill);
  std::optional<const char*> problem;
  const auto launch_set = [&](int set) {
    const auto at = static_cast<std::size_t>(set);
    char* in = bench.arena.data() + at * work.in_bytes();
    const auto answer = work.launch(in, in + aligned(work.first), bench.arena.out() + at * work.out_bytes());
    if (answer) problem = answer;
  };
  const double guess = bench.timer.guess_us([&](int) { launch_set(0); });
  if (problem) return *problem;
  const Layout layout = layout_of(item, work, guess, bench);
  const auto flush = [&] {  // reads four times the L2 from the far end of the memory
    const std::size_t bytes =
        std::min(bench.arena.bytes(), static_cast<std::size_t>(bench.card.l2_bytes) * 4) / 16 * 16;
    read_all(bench.arena.data() + bench.arena.bytes() - bytes, bytes, bench.card.sms, bench.arena.result(),
             bench.timer.stream());
  };
  const auto launch = [&](int copy) { launch_set(copy % layout.sets); };
  if (item.load_seconds > 0) sample = bench.timer.steady(layout.copies, launch, item.load_seconds, kSettleShare);
  else
    sample = bench.timer.graph(layout.copies, launch, {},
                               layout.flush ? std::function<void()>(flush) : std::function<void()>());
  if (problem) return *problem;
  return std::nullopt;
}

}  // namespace

bool sweep(Bench& bench, const std::vector<Case>& cases, double deadline, Table& table) {
  Progress progress("sweep", static_cast<int>(cases.size()));
  for (const Case& item : cases) {
    if (interrupted()) return false;
    if (seconds_now() > deadline) return true;
    const std::string key = bench.card.measured_as() + ",tilecast-collect,cuda," + bench.card.cuda + "," + item.source +
                            "," + item.family + "," + item.dtype + "," + item.dims_text() + ",graph," +
                            (item.warm ? "warm" : "cold") + (item.load_seconds > 0 ? ",sustained" : ",burst");
    Sample sample;
    if (!table.has(key)) {
      const auto problem = measure(bench, item, sample);
      if (problem)
        std::fprintf(stderr, "\nskipped %s %s %s: %s\n", item.family.c_str(), item.dtype.c_str(),
                     item.dims_text().c_str(), problem->c_str());
      else table.add(key, sample_fields(sample) + "," + protocol_fields(sample));
    }
    const int mhz = sample.sensors.sm_mhz;
    if (item.load_seconds == 0 && mhz > 0 && mhz < kNearHighest * bench.card.sm_mhz) std::this_thread::sleep_for(kPause);
    progress.step(item.family + " " + item.dtype + " " + item.dims_text());
  }
  return true;
}
