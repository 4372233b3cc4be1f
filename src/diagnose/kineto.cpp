// Traces of torch.profiler (Kineto): Chrome's trace events with categories of their own.
//
//   {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 5.0, "dur": 30.1,
//    "args": {"External id": 17, "Input Dims": [[512, 4096], [4096, 6144]], "Input type": ["c10::BFloat16", ...]}}
//   {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", ..., "args": {"correlation": 123}}
//   {"ph": "X", "cat": "kernel", "name": "nvjet_...", "ts": 9.2, "dur": 37.6, "args": {"External id": 17,
//    "correlation": 123, "device": 0, "stream": 7, "grid": [2, 64, 1], "block": [384, 1, 1], ...}}
//
// A kernel's "External id" is that of the innermost operator that launched it (libkineto/src/output_json.cpp, PyTorch
// 2.11). Operators may stand behind their kernels in the file; the builder joins them at the end.
#include <fmt/format.h>

#include <charconv>

#include "diagnose/json_events.h"
#include "diagnose/recording.h"

namespace tilecast {
namespace {

enum class Category : std::uint8_t { other, kernel, copy, fill, op, runtime };

Category category_of(std::string_view cat) {
  if (cat == "kernel") return Category::kernel;
  if (cat == "gpu_memcpy") return Category::copy;
  if (cat == "gpu_memset") return Category::fill;
  if (cat == "cpu_op") return Category::op;
  if (cat == "cuda_runtime" || cat == "cuda_driver" || cat == "hip_runtime") return Category::runtime;
  // Before PyTorch 1.13.
  if (cat == "Kernel") return Category::kernel;
  if (cat == "Memcpy") return Category::copy;
  if (cat == "Memset") return Category::fill;
  if (cat == "Runtime") return Category::runtime;
  return Category::other;
}

template <class Number>
Number number_of(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  Number number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc{} ? number : Number{0};
}

std::array<std::int32_t, 3> json_triple(std::string_view text) {
  std::array<std::int32_t, 3> numbers{};
  std::size_t i = 0;
  JsonCursor cursor(text);
  cursor.array([&] {
    const auto n = number_of<std::int32_t>(cursor.value());
    if (i < 3) numbers[i++] = std::max(n, 0);
  });
  return numbers;
}

// What an event says, as far as we ask; views into its text.
struct Event {
  std::string_view name, ts, duration;
  Category category = Category::other;
  std::string_view external, correlation, device, stream, bytes, grid, block, registers, shared;
  std::string_view dims, types, scalars;
  std::string_view collective, sent, received, type, group, ranks;  // of a collective
  std::uint32_t place = 0;
  bool complete = true;  // "ph": "X"
};

void read_args(JsonCursor& cursor, Event& event) {
  if (cursor.peek() != '{') return void(cursor.value());
  cursor.object([&](std::string_view key) {
    const std::string_view value = cursor.value();
    if (key == "External id" || key == "external id") event.external = value;
    else if (key == "correlation") event.correlation = value;
    else if (key == "device") event.device = value;
    else if (key == "stream") event.stream = value;
    else if (key == "bytes") event.bytes = value;
    else if (key == "grid") event.grid = value;
    else if (key == "block") event.block = value;
    else if (key == "registers per thread") event.registers = value;
    else if (key == "shared memory") event.shared = value;
    else if (key == "Input Dims" || key == "Input dims") event.dims = value;
    else if (key == "Input type") event.types = value;
    else if (key == "Concrete Inputs") event.scalars = value;
    else if (key == "Collective name") event.collective = value;
    else if (key == "In msg nelems") event.sent = value;
    else if (key == "Out msg nelems") event.received = value;
    else if (key == "dtype") event.type = value;
    else if (key == "Group size") event.group = value;
    else if (key == "Process Group Ranks") event.ranks = value;
  });
}

// False where the text is no event.
bool read_event(std::string_view text, Event& event) {
  JsonCursor cursor(text);
  bool wanted = true;
  cursor.object([&](std::string_view key) {
    if (key == "args") return wanted ? read_args(cursor, event) : void(cursor.value());
    const std::string_view value = cursor.value();
    const std::string_view inner =
        value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
    if (key == "name") event.name = inner;
    else if (key == "ts") event.ts = value;
    else if (key == "dur") event.duration = value;
    else if (key == "ph") event.complete = inner == "X";
    else if (key == "cat") wanted = (event.category = category_of(inner)) != Category::other;
  });
  return !cursor.bad();
}

Count product_of(const std::vector<Count>& dims) {
  double elements = 1;
  for (const Count d : dims) elements *= static_cast<double>(d);
  return elements < 1e15 ? static_cast<Count>(elements) : 0;
}

// "[512, 4096]" to {512, 4096}; "[[512, 4096], [4096]]", a list of tensors, to the number of their elements.
std::vector<Count> one_input(std::string_view text) {
  std::vector<Count> dims;
  if (text.empty() || text.front() != '[') return dims;
  Count listed = 0;
  bool list = false;
  JsonCursor cursor(text);
  cursor.array([&] {
    const std::string_view item = cursor.value();
    if (item.starts_with('[')) {
      list = true;
      const auto inner = one_input(item.find('[', 1) == std::string_view::npos ? item : std::string_view());
      if (!inner.empty()) listed += product_of(inner);
    } else if (const Count n = number_of<Count>(item); dims.size() < 16) {
      dims.push_back(std::clamp<Count>(n, 0, Count{1} << 40));
    }
  });
  if (list) return {std::clamp<Count>(listed, 0, Count{1} << 50)};
  return dims;
}

std::vector<std::string> texts(std::string_view json) {
  std::vector<std::string> list;
  if (json.empty() || json.front() != '[') return list;
  JsonCursor cursor(json);
  cursor.array([&] {
    std::string_view item = cursor.value();
    if (item.size() >= 2 && item.front() == '"') item = item.substr(1, item.size() - 2);
    if (list.size() < 64) list.push_back(unescaped(item.substr(0, 64)));
  });
  return list;
}

// Scalars that shapes need: masks, strides, dims of sums. Others (seeds, steps) would tell every call apart.
bool scalars_matter(std::string_view name) {
  return name.find("attention") != std::string_view::npos || name.find("conv") != std::string_view::npos ||
         name == "aten::sum" || name == "aten::mean";
}

OperatorCall operator_of(const Event& event) {
  OperatorCall call;
  call.name = unescaped(event.name);
  if (event.dims.starts_with('[')) {
    JsonCursor cursor(event.dims);
    cursor.array([&] {
      const std::string_view item = cursor.value();
      if (call.dims.size() < 64) call.dims.push_back(one_input(item));
    });
  }
  call.types = texts(event.types);
  if (scalars_matter(call.name)) call.scalars = texts(event.scalars);
  return call;
}

std::string_view unquoted(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
}

// Whatever tells two collectives apart, as exchange.h reads it.
std::string exchange_of(const Event& event) {
  if (event.collective.empty()) return {};
  constexpr std::size_t kMostRanksText = 4096;
  return fmt::format("{}|{}|{}|{}|{}|{}", unquoted(event.collective), unquoted(event.sent), unquoted(event.received),
                     unquoted(event.type), unquoted(event.group), unquoted(event.ranks).substr(0, kMostRanksText));
}

void add_work(const Event& event, RecordingBuilder& builder) {
  WorkSeen seen;
  const std::string exchange = exchange_of(event);
  seen.exchange = exchange, seen.place = event.place;
  std::string plain;
  seen.name = event.name;
  if (event.name.find('\\') != std::string_view::npos) seen.name = plain = unescaped(event.name);
  seen.activity = event.category == Category::copy   ? Activity::copy
                  : event.category == Category::fill ? Activity::fill
                                                     : Activity::kernel;
  seen.launch.grid = json_triple(event.grid);
  seen.launch.block = json_triple(event.block);
  seen.launch.registers = number_of<std::int32_t>(event.registers);
  seen.launch.shared_bytes = number_of<std::int32_t>(event.shared);
  const auto duration = nanoseconds_of(event.duration);
  if (!event.ts.empty()) seen.start = nanoseconds_of(event.ts);
  if (!duration || (!event.ts.empty() && !seen.start)) return builder.without_time();
  seen.duration = *duration;
  seen.device = number_of<std::int32_t>(event.device);
  seen.stream = number_of<std::int32_t>(event.stream);
  seen.external = number_of<std::uint64_t>(event.external);
  seen.correlation = number_of<std::uint64_t>(event.correlation);
  seen.bytes = std::clamp(number_of<double>(event.bytes), 0.0, 1e15);
  builder.work(seen);
}

void add_event(const Event& event, RecordingBuilder& builder) {
  switch (event.category) {
    case Category::kernel:
    case Category::copy:
    case Category::fill: return add_work(event, builder);
    case Category::runtime: {
      const auto start = nanoseconds_of(event.ts), duration = nanoseconds_of(event.duration);
      if (!start || !duration) return;
      return builder.host_call(event.name, *start, *duration, number_of<std::uint64_t>(event.correlation),
                               number_of<std::uint64_t>(event.external));
    }
    case Category::op: {
      const auto external = number_of<std::uint64_t>(event.external);
      if (external == 0) return;
      std::string inputs(event.name);
      inputs += '|';
      inputs += event.dims;
      inputs += event.types;
      if (scalars_matter(event.name)) inputs += event.scalars;
      return builder.operator_call(external, inputs, [&] { return operator_of(event); });
    }
    case Category::other: return;
  }
}

// "deviceProperties": [{"id": 0, "name": "NVIDIA H200", ...}]
std::string device_name(std::string_view json) {
  std::string name;
  JsonCursor cursor(json);
  cursor.array([&] {
    if (cursor.peek() != '{') return void(cursor.value());
    cursor.object([&](std::string_view key) {
      std::string_view value = cursor.value();
      if (key == "name" && name.empty() && value.size() > 2) name = unescaped(value.substr(1, value.size() - 2));
    });
  });
  return name;
}

}  // namespace

Result<Recording> read_kineto(const std::string& path, const Watch& watch) {
  RecordingBuilder builder(path, "PyTorch profiler trace");
  builder.set_kineto();
  Count broken = 0;
  std::uint32_t place = 0;
  const auto scanned = scan_events(
      path,
      [&](std::string_view text) -> Status {
        Event event;
        event.place = place++;
        if (!read_event(text, event)) ++broken;
        else if (event.complete) add_event(event, builder);
        return Ok{};
      },
      [&](std::string_view key, std::string_view value) {
        if (key == "deviceProperties") builder.set_gpu(device_name(value));
      },
      watch);
  if (!scanned) return scanned.error();
  if (broken > 0) builder.note(fmt::format("{} malformed events were left out", broken));
  return std::move(builder).finish();
}

}  // namespace tilecast
