#include "model/program_places.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "model/program_order.h"

namespace tilecast {
namespace {

// A graph of the compiler as the kernels and calls of libraries that it runs, numbered by their first calls.
struct CompiledGraph {
  std::vector<std::vector<int>> calls;  // by kernel
  std::map<int, int> kernel_of_call;    // those that launch something
  std::vector<int> made;                // storages, by its kernels
  std::set<int> read;                   // ... that were made before, and are read by them
  int first = 0, last = 0;              // calls
  bool backward = false;
};

// Inductor makes the results of these itself, and may put them where something else was; others' come from their
// libraries.
bool writes_where_told(std::string_view base) {
  return base == "mm" || base == "addmm" || base == "bmm" || base == "baddbmm" || base == "_scaled_mm" ||
         base == "_int_mm";
}

class Places {
 public:
  Places(const ProgramFile& program, const std::vector<FuseKind>& kinds, const InlinedProgram& inlined,
         FusedProgram& made)
      : program_(program), kinds_(kinds), inlined_(inlined), made_(made), readers_(program.storages.size()) {
    for (std::size_t i = 0; i < program_.calls.size(); ++i)
      for (const InlinedRead& read : inlined_.reads[i]) readers_[at(read.storage)].push_back(static_cast<int>(i));
  }

  void run() {
    find_ends();
    if (!program_.from_inductor) return;
    for (std::size_t i = 0; i < program_.storages.size(); ++i) {
      root_.push_back(static_cast<int>(i));
      made_.born.push_back(program_.storages[i].born);
    }
    for (std::size_t i = 0; i < program_.calls.size(); ++i) made_.step_of_call.push_back(static_cast<int>(i));
    for (const CompiledGraph& graph : graphs()) lay_out(graph);
    hand_on();
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  const ProgramOperator& op_of(int call) const { return program_.operators[at(program_.calls[at(call)].op)]; }
  const std::vector<InlinedRead>& reads_of(int call) const { return inlined_.reads[at(call)]; }
  int first_of(int call) const {
    const int group = made_.group_of_call[at(call)];
    return group < 0 ? call : made_.groups[at(group)].calls.front();
  }

  // What is read by something inlined lives until that is computed.
  void find_ends() {
    for (std::size_t i = 0; i < program_.storages.size(); ++i) {
      int last = program_.storages[i].dies;
      if (last >= 0)
        for (const int call : readers_[i]) last = std::max(last, last_of(call));
      made_.dies.push_back(last);
    }
  }
  int last_of(int call) const {
    const int group = made_.group_of_call[at(call)];
    return group < 0 ? call : made_.groups[at(group)].calls.back();
  }

  std::vector<CompiledGraph> graphs() const {
    std::map<int, CompiledGraph> found;
    for (std::size_t i = 0; i < program_.calls.size(); ++i) {
      const ProgramCall& call = program_.calls[i];
      if (call.graph < 0) continue;
      CompiledGraph& graph = found[call.graph];
      const int index = static_cast<int>(i);
      if (graph.kernel_of_call.empty()) graph.first = index;
      graph.last = index, graph.backward = program_.phases[at(call.phase)] == "backward";
      if (kinds_[i] != FuseKind::quiet && !inlined_.inlined[i]) note_call(graph, index);
    }
    std::vector<CompiledGraph> list;
    list.reserve(found.size());
    for (auto& [number, graph] : found) list.push_back(std::move(graph));
    return list;
  }
  void note_call(CompiledGraph& graph, int index) const {
    const int first = first_of(index);
    if (first == index) graph.kernel_of_call[index] = static_cast<int>(graph.calls.size()), graph.calls.emplace_back();
    const int kernel = graph.kernel_of_call[first];
    graph.kernel_of_call[index] = kernel;
    graph.calls[at(kernel)].push_back(index);
    for (const int s : program_.calls[at(index)].writes)
      if (makes(index, s)) graph.made.push_back(s);
    for (const InlinedRead& read : reads_of(index))
      if (program_.storages[at(read.storage)].born < graph.first) graph.read.insert(read.storage);
  }
  bool makes(int call, int storage) const {
    return program_.storages[at(storage)].born == call && !inlined_.never_made[at(storage)] &&
           program_.storages[at(storage)].on_card;
  }

  bool ends_in(const CompiledGraph& graph, int storage) const {
    const int dies = program_.storages[at(storage)].dies;
    return dies >= graph.first && (dies <= graph.last || is_given_up_in(graph, storage));
  }
  // What a forward pass keeps is recorded as alive until its gradients have run, or as long as anything refers to the
  // pass. PyTorch hands it over and releases it, so it lives until it is read for the last time
  // (torch/_functorch/_aot_autograd/runtime_wrappers.py, maybe_clear_saved_tensors).
  bool is_given_up_in(const CompiledGraph& graph, int storage) const {
    const auto& readers = readers_[at(storage)];
    return graph.backward && is_kept_by_a_graph(storage) && !readers.empty() && readers.back() <= graph.last;
  }

  PlannedGraph planned(const CompiledGraph& graph, const std::vector<int>& storages) const {
    PlannedGraph plan;
    plan.before.resize(graph.calls.size());
    std::map<int, std::vector<int>> readers, since;  // kernels by storage: all, and those after it was last written
    std::map<int, int> writer;                       // the last kernel that wrote a storage
    for (const auto& [index, kernel] : graph.kernel_of_call) {
      const auto waits_for = [&, kernel = kernel](int other) {
        if (other != kernel) plan.before[at(kernel)].push_back(other);
      };
      for (const InlinedRead& read : reads_of(index)) {
        if (const auto w = writer.find(read.storage); w != writer.end()) waits_for(w->second);
        for (auto* list : {&readers[read.storage], &since[read.storage]})
          if (list->empty() || list->back() != kernel) list->push_back(kernel);
      }
      for (const int s : program_.calls[at(index)].writes) {
        if (!makes(index, s)) std::for_each(since[s].begin(), since[s].end(), waits_for);
        if (const auto w = writer.find(s); w != writer.end()) waits_for(w->second), readers[s].push_back(kernel);
        writer[s] = kernel, since[s].clear();
      }
    }
    for (auto& before : plan.before) tidy(before);
    for (const int s : storages) {
      const int born = program_.storages[at(s)].born;
      const bool own = born >= graph.first;
      PlannedBuffer buffer{program_.storages[at(s)].bytes, own ? graph.kernel_of_call.at(born) : -1, readers[s],
                           !ends_in(graph, s)};
      tidy(buffer.readers);
      std::erase(buffer.readers, buffer.maker);
      plan.buffers.push_back(std::move(buffer));
    }
    return plan;
  }
  static void tidy(std::vector<int>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }

  // Kernels stand where those of the graph stood, in the order that they run in; storages are made and let go with
  // them.
  void lay_out(const CompiledGraph& graph) {
    if (graph.calls.empty()) return;
    std::vector<int> storages = graph.made;
    for (const int s : graph.read)  // those kept for gradients; others belong to whoever called
      if (graph.backward && is_kept_by_a_graph(s) && ends_in(graph, s)) storages.push_back(s);
    const PlannedGraph plan = planned(graph, storages);
    const KernelOrder order = order_for_least_memory(plan);
    std::vector<int> step(graph.calls.size(), 0);
    for (std::size_t i = 0; i < order.kernels.size(); ++i) {
      step[at(order.kernels[i])] = static_cast<int>(i);
      made_.step_of_call[at(graph.calls[at(order.kernels[i])].front())] = graph.calls[i].front();
    }
    std::map<int, int> ends;  // by storage: the step after which nothing reads it
    for (std::size_t b = 0; b < storages.size(); ++b) {
      const PlannedBuffer& buffer = plan.buffers[b];
      int end = buffer.maker < 0 ? 0 : step[at(buffer.maker)];
      if (buffer.maker >= 0) made_.born[at(storages[b])] = graph.calls[at(end)].front();
      for (const int k : buffer.readers) end = std::max(end, step[at(k)]);
      if (buffer.leaves) continue;
      made_.dies[at(storages[b])] = graph.calls[at(end)].front();
      ends[storages[b]] = end;
    }
    take_places(graph, order, ends);
  }
  bool is_kept_by_a_graph(int storage) const {
    const ProgramStorage& s = program_.storages[at(storage)];
    return s.born >= 0 && program_.calls[at(s.born)].graph >= 0 &&
           program_.phases[at(program_.calls[at(s.born)].phase)] == "forward";
  }

  struct Freed {
    int step = 0, storage = 0;
  };
  using PlaceKey = std::tuple<std::string_view, Count, bool>;  // type, bytes, whether rows are padded
  PlaceKey key_of(int storage, const ProgramLayout& layout) const {
    return {layout.dtype, program_.storages[at(storage)].bytes, is_padded(storage, layout)};
  }
  // Rows longer than 1,024 numbers that a kernel of Inductor's own makes begin at multiples of 128 bytes (config.py,
  // comprehensive_padding), so they need more than equally long rows made by a library.
  bool is_padded(int storage, const ProgramLayout& layout) const {
    constexpr Count kLong = 1024, kAligned = 128;
    const int born = program_.storages[at(storage)].born;
    if (born < 0 || kinds_[at(born)] == FuseKind::apart || layout.strides.empty() || layout.strides.back() != 1)
      return false;
    return std::any_of(layout.strides.begin(), layout.strides.end(), [&](Count stride) {
      return stride > kLong && stride * static_cast<Count>(element_bytes(layout.dtype)) % kAligned != 0;
    });
  }

  // A kernel writes into an input that ends with it, if both have the same layout (scheduler.py,
  // decide_inplace_update). Other results take the place of a buffer of the same type and size that was let go last, if
  // holding that until then is not expected to raise the peak (codegen/wrapper.py, AllocateLine).
  void take_places(const CompiledGraph& graph, const KernelOrder& order, const std::map<int, int>& ends) {
    const bool planned = order.kernels.size() <= kMostPlannedKernels;
    std::vector<Count> memory = order.memory;
    std::map<PlaceKey, std::vector<Freed>> free;
    std::vector<std::vector<int>> ending(order.kernels.size());
    for (const auto& [storage, end] : ends)
      if (program_.storages[at(storage)].born >= graph.first) ending[at(end)].push_back(storage);
    for (std::size_t i = 0; i < order.kernels.size(); ++i) {
      const int step = static_cast<int>(i);
      std::vector<int> taken;
      for (const int index : graph.calls[at(order.kernels[i])]) {
        const auto& writes = program_.calls[at(index)].writes;
        const std::vector<const ProgramLayout*> results = OperatorView(program_, op_of(index)).results();
        for (std::size_t w = 0; w < std::min(writes.size(), results.size()); ++w) {
          if (!makes(index, writes[w])) continue;
          const bool inside = made_.inside[at(writes[w])];  // it hands a place on, if it has one
          if (!take_input(index, writes[w], *results[w], step, ends, taken) && !inside && planned)
            take_free(index, writes[w], *results[w], step, memory, order.peak, free);
        }
      }
      for (const int s : ending[i])
        if (std::find(taken.begin(), taken.end(), s) == taken.end() && !is_nowhere(s))
          if (const ProgramLayout* layout = layout_of(s)) free[key_of(s, *layout)].push_back({step, s});
    }
  }
  // It is kept inside a kernel and lies in no other's place.
  bool is_nowhere(int storage) const { return made_.inside[at(storage)] && root_[at(storage)] == storage; }
  const ProgramLayout* layout_of(int storage) const {
    const int born = program_.storages[at(storage)].born;
    const auto& writes = program_.calls[at(born)].writes;
    const std::vector<const ProgramLayout*> results = OperatorView(program_, op_of(born)).results();
    for (std::size_t i = 0; i < std::min(writes.size(), results.size()); ++i)
      if (writes[i] == storage) return results[i];
    return nullptr;
  }
  static bool is_dense(const ProgramLayout& layout) {
    Count next = 1;
    for (std::size_t i = layout.shape.size(); i-- > 0; next *= layout.shape[i])
      if (layout.shape[i] != 1 && layout.strides[i] != next) return false;
    return true;
  }
  // Element by element, or added to what lies there.
  static bool lies_alike(const ProgramLayout& a, const ProgramLayout& b) {
    return a.strides == b.strides ? a.shape == b.shape : is_dense(a) && is_dense(b);
  }
  bool take_input(int index, int storage, const ProgramLayout& as, int step, const std::map<int, int>& ends,
                  std::vector<int>& taken) {
    if (kinds_[at(index)] == FuseKind::apart) return false;
    const bool scatters = kinds_[at(index)] == FuseKind::scattered;
    for (const InlinedRead& read : reads_of(index)) {
      const ProgramStorage& from = program_.storages[at(read.storage)];
      const auto end = ends.find(read.storage);
      if (end == ends.end() || end->second != step || from.role != StorageRole::other) continue;
      if (scatters && program_.calls[at(index)].reads.front() != read.storage) continue;
      if (!read.layout || read.layout->dtype != as.dtype || !lies_alike(*read.layout, as)) continue;
      if (from.bytes != program_.storages[at(storage)].bytes || is_nowhere(read.storage)) continue;
      if (is_padded(read.storage, *read.layout) != is_padded(storage, as)) continue;
      if (from.born >= 0 && kinds_[at(from.born)] == FuseKind::scattered)
        continue;  // another name for what it was added to
      if (read.storage == storage || std::find(taken.begin(), taken.end(), read.storage) != taken.end()) continue;
      taken.push_back(read.storage);
      take(storage, read.storage);
      return true;
    }
    return false;
  }
  void take_free(int index, int storage, const ProgramLayout& as, int step, std::vector<Count>& memory, Count peak,
                 std::map<PlaceKey, std::vector<Freed>>& free) {
    if (kinds_[at(index)] == FuseKind::apart && !writes_where_told(operator_base(op_of(index).name))) return;
    const Count bytes = program_.storages[at(storage)].bytes;
    auto& list = free[key_of(storage, as)];
    if (list.empty()) return;
    const Freed last = list.back();
    const auto from = memory.begin() + last.step + 1, to = memory.begin() + step;
    if (from < to) {
      if (*std::max_element(from, to) + bytes > peak) return;
      std::for_each(from, to, [&](Count& m) { m += bytes; });
    }
    list.pop_back();
    take(storage, last.storage);
  }
  void take(int storage, int from) {
    root_[at(storage)] = root_[at(from)];
    made_.inside[at(storage)] = true;
  }

  // A place is held as long as the last that lies in it.
  void hand_on() {
    for (std::size_t i = 0; i < root_.size(); ++i) {
      if (root_[i] == static_cast<int>(i)) continue;
      int& held = made_.dies[at(root_[i])];
      held = held < 0 || made_.dies[i] < 0 ? -1 : std::max(held, made_.dies[i]);
    }
  }

  const ProgramFile& program_;
  const std::vector<FuseKind>& kinds_;
  const InlinedProgram& inlined_;
  FusedProgram& made_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> root_;  // by storage: whose place it lies in
};

}  // namespace

void lay_out_storages(const ProgramFile& program, const std::vector<FuseKind>& kinds, const InlinedProgram& inlined,
                      FusedProgram& made) {
  Places(program, kinds, inlined, made).run();
}

}  // namespace tilecast
