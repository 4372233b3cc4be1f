#include "model/program_places.h"

#include <algorithm>

namespace tilecast {
namespace {

class Places {
 public:
  Places(const ProgramFile& program, const std::vector<FuseKind>& kinds, const InlinedProgram& inlined,
         FusedProgram& made)
      : program_(program), kinds_(kinds), inlined_(inlined), made_(made), readers_(program.storages.size()) {
    for (std::size_t i = 0; i < program_.calls.size(); ++i)
      for (const InlinedRead& read : inlined_.reads[i])
        readers_[static_cast<std::size_t>(read.storage)].push_back(static_cast<int>(i));
  }

  void run() {
    find_ends();
    if (program_.from_inductor) reuse_places(), make_late();
  }

 private:
  const ProgramOperator& op_of(int call) const {
    return program_.operators[static_cast<std::size_t>(program_.calls[static_cast<std::size_t>(call)].op)];
  }
  const std::vector<InlinedRead>& reads_of(int call) const { return inlined_.reads[static_cast<std::size_t>(call)]; }

  // What is read by something inlined lives until that is computed.
  void find_ends() {
    find_graphs_ends();
    for (std::size_t i = 0; i < program_.storages.size(); ++i) {
      const ProgramStorage& storage = program_.storages[i];
      int last = is_kept_for_gradients(storage) ? storage.born : storage.dies;
      if (last >= 0)
        for (const int call : readers_[i]) last = std::max(last, last_of(call));
      made_.dies.push_back(last);
    }
  }
  void find_graphs_ends() {
    for (std::size_t i = 0; i < program_.calls.size(); ++i) {
      const int graph = program_.calls[i].graph;
      if (graph < 0) continue;
      ends_.resize(std::max(ends_.size(), static_cast<std::size_t>(graph) + 1), -1);
      ends_[static_cast<std::size_t>(graph)] = static_cast<int>(i);
    }
  }
  // What one graph keeps for another is recorded as alive until that has run. PyTorch hands it over and lets go, so that it lives until
  // it is read for the last time (torch/_functorch/_aot_autograd/runtime_wrappers.py, maybe_clear_saved_tensors).
  bool is_kept_for_gradients(const ProgramStorage& storage) const {
    if (!program_.from_inductor || storage.born < 0 || storage.dies < 0) return false;
    const int made = program_.calls[static_cast<std::size_t>(storage.born)].graph;
    const int read = program_.calls[static_cast<std::size_t>(storage.dies)].graph;
    return made >= 0 && read >= 0 && made != read && ends_[static_cast<std::size_t>(read)] == storage.dies;
  }
  int last_of(int call) const {
    const int group = made_.group_of_call[static_cast<std::size_t>(call)];
    return group < 0 ? call : made_.groups[static_cast<std::size_t>(group)].calls.back();
  }

  // Products and the like are put off until something needs them, if what they read is kept anyway
  // (memory.py, reorder_for_peak_memory).
  void make_late() {
    for (const ProgramStorage& storage : program_.storages) made_.born.push_back(storage.born);
    for (std::size_t i = 0; i < program_.calls.size(); ++i) {
      if (program_.calls[i].graph < 0 || kinds_[i] != FuseKind::apart) continue;
      int first = static_cast<int>(program_.calls.size());
      for (const int s : program_.calls[i].writes)
        for (const int reader : readers_[static_cast<std::size_t>(s)]) first = std::min(first, first_of(reader));
      const auto kept = [&](const InlinedRead& read) {
        const int dies = made_.dies[static_cast<std::size_t>(root_[static_cast<std::size_t>(read.storage)])];
        return dies < 0 || dies >= first;
      };
      const auto& reads = inlined_.reads[i];
      if (first == static_cast<int>(program_.calls.size()) || !std::all_of(reads.begin(), reads.end(), kept)) continue;
      if (program_.calls[static_cast<std::size_t>(first)].graph != program_.calls[i].graph) continue;
      for (const int s : program_.calls[i].writes) made_.born[static_cast<std::size_t>(s)] = first;
    }
  }
  int first_of(int call) const {
    const int group = made_.group_of_call[static_cast<std::size_t>(call)];
    return group < 0 ? call : made_.groups[static_cast<std::size_t>(group)].calls.front();
  }

  // An operator writes into the place of an input of the same size that nothing reads afterwards (scheduler.py,
  // can_inplace); what a kernel keeps inside hands the place on.
  void reuse_places() {
    std::vector<bool> taken(program_.storages.size(), false);
    for (std::size_t i = 0; i < program_.storages.size(); ++i) root_.push_back(static_cast<int>(i));
    for (std::size_t g = 0; g < made_.groups.size(); ++g) {
      const FusedGroup& group = made_.groups[g];
      if (program_.calls[static_cast<std::size_t>(group.calls.front())].graph < 0) continue;
      for (const int index : group.calls) {
        const auto& writes = program_.calls[static_cast<std::size_t>(index)].writes;
        const std::vector<const ProgramLayout*> results = OperatorView(program_, op_of(index)).results();
        for (std::size_t i = 0; i < std::min(writes.size(), results.size()); ++i)
          if (const auto made = static_cast<std::size_t>(writes[i]);
              !inlined_.never_made[made] && program_.storages[made].born == index)
            take_place(index, writes[i], *results[i], taken);
      }
    }
  }
  // Element by element, or added to what lies there.
  static bool lies_alike(const ProgramLayout& a, const ProgramLayout& b) {
    return a.strides == b.strides ? a.shape == b.shape : is_dense(a) && is_dense(b);
  }
  static bool is_dense(const ProgramLayout& layout) {
    Count next = 1;
    for (std::size_t i = layout.shape.size(); i-- > 0; next *= layout.shape[i])
      if (layout.shape[i] != 1 && layout.strides[i] != next) return false;
    return true;
  }
  void take_place(int index, int made, const ProgramLayout& as, std::vector<bool>& taken) {
    const auto at = static_cast<std::size_t>(made);
    const ProgramCall& call = program_.calls[static_cast<std::size_t>(index)];
    const bool scatters = kinds_[static_cast<std::size_t>(index)] == FuseKind::scattered;
    for (const InlinedRead& read : reads_of(index)) {
      const auto from = static_cast<std::size_t>(read.storage), root = static_cast<std::size_t>(root_[from]);
      const ProgramStorage& storage = program_.storages[from];
      const bool ends =
          made_.dies[from] >= 0 && made_.dies[from] <= last_of(index) && storage.role == StorageRole::other;
      if (scatters && call.reads.front() != read.storage) continue;
      if (!read.layout || !lies_alike(*read.layout, as)) continue;
      if (taken[from] || from == at || !ends || storage.bytes != program_.storages[at].bytes || made_.inside[root])
        continue;
      taken[from] = true, made_.inside[at] = true;
      made_.dies[root] = made_.dies[at], root_[at] = root_[from];
      return;
    }
  }

  const ProgramFile& program_;
  const std::vector<FuseKind>& kinds_;
  const InlinedProgram& inlined_;
  FusedProgram& made_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> root_;  // by storage: whose place it lies in
  std::vector<int> ends_;  // by graph: its last call
};

}  // namespace

void lay_out_storages(const ProgramFile& program, const std::vector<FuseKind>& kinds, const InlinedProgram& inlined,
                      FusedProgram& made) {
  Places(program, kinds, inlined, made).run();
}

}  // namespace tilecast
