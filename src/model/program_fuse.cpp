#include "model/program_fuse.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "constants/program.h"
#include "kernel/custom.h"
#include "kernel/elementwise.h"
#include "model/program_fuse_kind.h"
#include "model/program_images.h"
#include "model/program_places.h"

namespace tilecast {
namespace {

const ProgramLayout* largest_of(const std::vector<const ProgramLayout*>& tensors) {
  const ProgramLayout* most = nullptr;
  for (const ProgramLayout* tensor : tensors)
    if (tensor->on_card && (!most || elements_of(*tensor) > elements_of(*most))) most = tensor;
  return most;
}

bool is_row_major(const ProgramLayout& layout) {
  Count next = 1;
  for (std::size_t i = layout.shape.size(); i-- > 0; next *= layout.shape[i])
    if (layout.shape[i] != 1 && layout.strides[i] != next) return false;
  return true;
}
// Neighbours along the last axis lie apart, those along another together.
bool lies_across(const ProgramLayout& layout) {
  if (layout.shape.size() < 2 || layout.shape.back() < 2 || layout.strides.back() < 2) return false;
  for (std::size_t i = 0; i + 1 < layout.shape.size(); ++i)
    if (layout.shape[i] > 1 && layout.strides[i] == 1) return true;
  return false;
}

class Fuser {
 public:
  Fuser(const ProgramFile& program, const ProgramCard& card)
      : program_(program), card_(card), images_last_(graphs_with_images_last(program)) {
    made_.group_of_call.assign(program.calls.size(), -1);
    level_.assign(program.storages.size(), 0);
    maker_.assign(program.storages.size(), -1);
    std::map<std::tuple<int, int, bool>, FuseKind> known;  // by operator, phase and whether it is in a graph
    for (const ProgramCall& call : program.calls) {
      const auto [at, fresh] = known.try_emplace({call.op, call.phase, call.graph >= 0}, FuseKind::apart);
      if (fresh) at->second = kind_of_call(call);
      kinds_.push_back(at->second);
    }
    inline_ = inline_pointwise(program, kinds_);
  }

  FusedProgram run() {
    for (std::size_t i = 0; i < program_.calls.size(); ++i) place(static_cast<int>(i));
    find_readers();
    for (FusedGroup& group : made_.groups) price(group);
    for (std::size_t i = 0; i < program_.storages.size(); ++i) {
      const int born = program_.storages[i].born;
      const int group = born < 0 ? -1 : made_.group_of_call[static_cast<std::size_t>(born)];
      made_.inside.push_back(inline_.never_made[i] || (group >= 0 && !is_seen(static_cast<int>(i), group)));
    }
    made_.inlined = inline_.inlined;
    find_biases();
    lay_out_storages(program_, kinds_, inline_, made_);
    return std::move(made_);
  }

 private:
  struct State {
    int level = 0, phase = 0, graph = -1;
    Count elements = 0, results = 0;          // walked, and left by its reduction; 0: none yet
    bool columns = false;                     // nothing but sums down columns
    Count parts = 1;                          // that every sum is made of, which other kernels join
    bool uneven = false, by_channel = false;  // parts of different lengths; sums over some channels of an image
  };

  FuseKind kind_of_call(const ProgramCall& call) const {
    const OperatorView view(program_, program_.operators[static_cast<std::size_t>(call.op)]);
    const FuseKind kind =
        kind_of_operator(view, program_.phases[static_cast<std::size_t>(call.phase)], call.graph >= 0);
    const bool as_it_is = program_.from_inductor && call.graph < 0 && kind != FuseKind::quiet;
    return as_it_is ? FuseKind::apart : kind;
  }
  const ProgramOperator& op_of(int call) const {
    return program_.operators[static_cast<std::size_t>(program_.calls[static_cast<std::size_t>(call)].op)];
  }
  const std::vector<InlinedRead>& reads_of(int call) const { return inline_.reads[static_cast<std::size_t>(call)]; }

  // A level later for everything that runs by itself: what has the same level can run as one.
  void place(int index) {
    const ProgramCall& call = program_.calls[static_cast<std::size_t>(index)];
    const FuseKind kind = kinds_[static_cast<std::size_t>(index)];
    int level = 0;
    for (const int s : call.reads) level = std::max(level, level_[static_cast<std::size_t>(s)]);
    if (kind == FuseKind::quiet || inline_.inlined[static_cast<std::size_t>(index)]) {
      for (const int s : call.writes) raise(s, level);
      return;
    }
    if (kind == FuseKind::apart) {
      for (const int s : call.writes)
        level_[static_cast<std::size_t>(s)] = level + 1, maker_[static_cast<std::size_t>(s)] = -1;
      return;
    }
    join(index, kind, level);
  }

  void join(int index, FuseKind kind, int level) {
    const ProgramCall& call = program_.calls[static_cast<std::size_t>(index)];
    const OperatorView view(program_, op_of(index));
    const bool scatters = kind == FuseKind::scattered, reduces = kind == FuseKind::rows || kind == FuseKind::columns;
    const bool columns = kind == FuseKind::columns;
    const ProgramLayout *in = largest_of(view.inputs()), *out = largest_of(view.results());
    Count walked = std::max(in && reduces ? elements_of(*in) : 0, out ? elements_of(*out) : 0);
    if (scatters) walked = scattered_elements(view);
    const int group = group_for(index, level, walked, kind);
    FusedGroup& joined = made_.groups[static_cast<std::size_t>(group)];
    joined.calls.push_back(index), joined.reduces = joined.reduces || reduces;
    joined.scatters = joined.scatters || scatters;
    if (columns && out) joined.columns += elements_of(*out);
    const bool in_parts = kind == FuseKind::rows && out && note_parts(index, walked, elements_of(*out), group);
    if (reduces && out && !(columns && program_.from_inductor))
      states_[static_cast<std::size_t>(group)].results = elements_of(*out);
    made_.group_of_call[static_cast<std::size_t>(index)] = group;
    // What is added up here is whole only when the kernel ends.
    const bool later = scatters || in_parts || (columns && program_.from_inductor);
    for (const int s : call.writes) raise(s, later ? level + 1 : level), maker_[static_cast<std::size_t>(s)] = group;
  }

  // Whether sums are so few and so long that each is made of parts: what reads them comes in another kernel.
  bool note_parts(int index, Count walked, Count results, int group) {
    const ProgramCall& call = program_.calls[static_cast<std::size_t>(index)];
    if (call.graph < 0 || results == 0) return false;
    const Count length = walked / results, parts = parts_of_sum(length, results, card_);
    if (parts < 2) return false;
    State& state = states_[static_cast<std::size_t>(group)];
    state.parts = std::max(state.parts, parts), state.uneven = state.uneven || length % parts != 0;
    const OperatorView view(program_, op_of(index));
    const ProgramLayout* in = view.tensor("self");
    constexpr std::size_t kGroups = 4;  // images, groups of channels, channels, places
    state.by_channel = state.by_channel || (keeps_images_last(call.graph) && in && in->shape.size() == kGroups &&
                                            view.wholes("dim") == std::vector<Count>{2, 3});
    return true;
  }
  bool keeps_images_last(int graph) const {
    return graph >= 0 && graph < static_cast<int>(images_last_.size()) && images_last_[static_cast<std::size_t>(graph)];
  }

  void raise(int storage, int level) {
    int& own = level_[static_cast<std::size_t>(storage)];
    own = std::max(own, level);
  }

  // The group that makes one of the inputs, or reads one too, and walks as many elements; else a new one. Sums down
  // columns walk the other way round: of Inductor's graphs they join sums along rows (mix_order_reduction) and each
  // other, else nothing.
  int group_for(int index, int level, Count walked, FuseKind kind) {
    const ProgramCall& call = program_.calls[static_cast<std::size_t>(index)];
    const bool columns = kind == FuseKind::columns;
    if (!columns || program_.from_inductor)
      for (std::size_t back = 0; back < std::min<std::size_t>(kLookedBack, made_.groups.size()); ++back) {
        const std::size_t at = made_.groups.size() - 1 - back;
        const bool sums = states_[at].columns || states_[at].results > 0;
        if (columns ? !sums : states_[at].columns) continue;
        if (fits(states_[at], call, level, walked) && touches(static_cast<int>(at), index)) return static_cast<int>(at);
      }
    made_.groups.push_back({});
    states_.push_back({level, call.phase, call.graph, walked, 0, columns});
    return static_cast<int>(made_.groups.size()) - 1;
  }
  static bool fits(const State& state, const ProgramCall& call, int level, Count walked) {
    if (state.level != level || state.phase != call.phase || state.graph != call.graph) return false;
    return state.elements == walked || (state.results > 0 && state.results == walked);
  }
  bool touches(int group, int index) const {
    const auto& own = reads_of(index);
    return std::any_of(own.begin(), own.end(), [&](const InlinedRead& read) {
      if (maker_[static_cast<std::size_t>(read.storage)] == group) return true;
      const auto& members = made_.groups[static_cast<std::size_t>(group)].calls;
      return std::any_of(members.begin(), members.end(), [&](int m) {
        const auto& reads = reads_of(m);
        return std::any_of(reads.begin(), reads.end(), [&](const InlinedRead& r) { return r.storage == read.storage; });
      });
    });
  }

  void find_readers() {
    readers_.resize(program_.storages.size());
    for (std::size_t i = 0; i < program_.calls.size(); ++i)
      for (const InlinedRead& read : inline_.reads[i])
        readers_[static_cast<std::size_t>(read.storage)].push_back(static_cast<int>(i));
  }

  void find_biases() {
    made_.bias_first.assign(program_.calls.size(), false);
    for (std::size_t i = 0; i < program_.calls.size(); ++i) {
      const ProgramCall& call = program_.calls[i];
      if (call.graph < 0 || call.writes.empty() || operator_base(op_of(static_cast<int>(i)).name) != "convolution")
        continue;
      const auto& readers = readers_[static_cast<std::size_t>(call.writes.front())];
      const auto as_it_lies = [&](int reader) {
        const auto at = static_cast<std::size_t>(reader);
        return kinds_[at] == FuseKind::apart || program_.calls[at].graph != call.graph;
      };
      made_.bias_first[i] = readers.empty() || std::any_of(readers.begin(), readers.end(), as_it_lies);
    }
  }

  // Whether anything outside the group sees what it made.
  bool is_seen(int storage, int group) const {
    if (program_.storages[static_cast<std::size_t>(storage)].dies < 0) return true;
    const auto& readers = readers_[static_cast<std::size_t>(storage)];
    return std::any_of(readers.begin(), readers.end(),
                       [&](int call) { return made_.group_of_call[static_cast<std::size_t>(call)] != group; });
  }

  struct Traffic {
    double read = 0, written = 0, narrow = 0, added = 0, work = 0;
    double again = 0;   // read for every element out of L1: a row's or a channel's numbers
    double across = 0;  // of these, what lies across the rows that are summed
  };
  Traffic traffic_of(const FusedGroup& group) const {
    const int own = made_.group_of_call[static_cast<std::size_t>(group.calls.front())];
    const State& state = states_[static_cast<std::size_t>(own)];
    const bool by_rows = state.results > 0 && state.parts == 1;
    Traffic all;
    std::map<int, double> reads, writes;
    std::set<int> across;
    const auto count = [&](std::map<int, double>& sides, double& sum, int storage, double size, double element) {
      double& known = sides[storage];
      if (size <= known) return;
      sum += size - known, all.narrow += element < 4 ? size - known : 0;
      known = size;
    };
    for (const int index : group.calls) {
      const ProgramCall& call = program_.calls[static_cast<std::size_t>(index)];
      const OperatorView view(program_, op_of(index));
      const std::vector<const ProgramLayout*> results = view.results();
      all.added += scattered_bytes(view);
      all.work += inline_.work[static_cast<std::size_t>(index)];
      for (const InlinedRead& read : reads_of(index)) {
        if (maker_of(read.storage, index) == own) continue;
        count(reads, all.read, read.storage, read.bytes, read.element);
        if (by_rows && reads_across(read, call.graph, state.elements) && across.insert(read.storage).second)
          all.across += read.bytes;
      }
      for (std::size_t i = 0; i < std::min(results.size(), call.writes.size()); ++i)
        if (results[i]->on_card && is_seen(call.writes[i], own)) {
          count(writes, all.written, call.writes[i], bytes_of(*results[i]), element_bytes(results[i]->dtype));
          if (by_rows && writes_across(view, *results[i], call.graph) && across.insert(call.writes[i]).second)
            all.across += bytes_of(*results[i]);
        }
    }
    const double walked = kParameterBytes * static_cast<double>(state.elements);
    for (const auto& [storage, size] : reads)
      if (size * kMuchSmaller < walked) all.again += walked;
    return all;
  }

  // A kernel that sums rows goes along them; what lies the other way round it reads and writes in pieces of a few
  // elements.
  bool reads_across(const InlinedRead& read, int graph, Count walked) const {
    if (graph < 0 || !read.layout || !lies_across(*read.layout) || 2 * elements_of(*read.layout) < walked) return false;
    return !(keeps_images_last(graph) && is_image(read.storage));
  }
  bool is_image(int storage) const {
    const int born = program_.storages[static_cast<std::size_t>(storage)].born;
    if (born < 0) return false;
    constexpr std::size_t kImage = 4;
    const ProgramLayout* made = OperatorView(program_, op_of(born)).result();
    return made && made->shape.size() == kImage;
  }
  bool writes_across(const OperatorView& view, const ProgramLayout& result, int graph) const {
    const ProgramLayout* in = view.tensor("self");
    constexpr std::size_t kImage = 4;
    if (graph < 0 || !in || in->shape != result.shape || !is_row_major(result) || !lies_across(*in)) return false;
    return !(keeps_images_last(graph) && result.shape.size() == kImage);
  }

  void price(FusedGroup& group) const {
    Traffic all = traffic_of(group);
    const State& state = states_[static_cast<std::size_t>(&group - made_.groups.data())];
    all.read += constants::kAcrossRows * all.across;
    if (state.by_channel) all.read *= state.uneven ? constants::kUnevenParts : constants::kEvenParts;
    const bool narrow = all.narrow * 2 > all.read + all.written;
    if (group.scatters) all.written = std::max(all.written, all.added);
    KernelList list;
    const std::string_view name = group.reduces ? "fused reduction" : "fused pointwise";
    const bool in_graph = program_.calls[static_cast<std::size_t>(group.calls.front())].graph >= 0;
    if (in_graph && !group.scatters) all.read += kFromL1 * all.again;
    if (in_graph && 2 * all.work > kBusy * (all.read + all.written))
      add_busy(list, name, all.read, all.written, all.work, narrow);
    else
      list.add_pass(name, all.read, all.written, narrow ? 2 : 4, TorchWalk::vectorized, PointwiseOp::mul,
                    group.scatters ? Manner::compiled_atomics : Manner::plain);
    if (list.empty()) return;
    if (group.columns > 0 && program_.from_inductor) add_join(list, group);
    if (state.parts > 1) add_parts_join(list, state);
    group.kernels = std::move(list).take();
  }

  // One that computes as long as it reads and writes.
  static void add_busy(KernelList& list, std::string_view name, double read, double written, double work, bool narrow) {
    constexpr double kBytesEach = 8192;
    constexpr Count kThreads = 128;
    Custom shape;
    shape.ctas = std::max<Count>(1, static_cast<Count>((read + written) / kBytesEach)), shape.threads = kThreads;
    shape.load_bytes = read, shape.store_bytes = written, shape.vector_ops = 2 * work;
    list.add(name, shape, narrow ? "bf16" : "fp32");
  }

  // Rows are summed in parts, which a second kernel adds up.
  void add_join(KernelList& list, const FusedGroup& group) const {
    constexpr Count kRowsOfPart = 16;
    const Count elements = states_[static_cast<std::size_t>(&group - made_.groups.data())].elements;
    const Count each = std::max<Count>(1, elements * std::max<Count>(1, count_columns(group)) / group.columns);
    const ProgramLayout parts{"fp32", true, {ceil_div(each, kRowsOfPart), group.columns}, {group.columns, 1}};
    if (parts.shape[0] > 1) add_reduction(list, parts, static_cast<double>(group.columns), false, card_);
  }
  // Sums over channels that lie apart are made of parts of parts.
  static void add_parts_join(KernelList& list, const State& state) {
    constexpr double kSumsAndCount = 12;  // bytes: mean, squares, how many
    const auto sums = static_cast<double>(state.results);
    const int kernels = state.by_channel ? 3 : 1;
    for (int i = 0; i < kernels; ++i)
      list.add_pass("sums of parts", kSumsAndCount * sums * static_cast<double>(state.parts), kSumsAndCount * sums, 4);
  }
  Count count_columns(const FusedGroup& group) const {
    return std::count_if(group.calls.begin(), group.calls.end(),
                         [&](int c) { return kinds_[static_cast<std::size_t>(c)] == FuseKind::columns; });
  }

  // The group that made a storage before this call: storages written in place have several makers.
  int maker_of(int storage, int before) const {
    const ProgramStorage& s = program_.storages[static_cast<std::size_t>(storage)];
    return s.born >= 0 && s.born < before ? made_.group_of_call[static_cast<std::size_t>(s.born)] : -1;
  }

  static constexpr std::size_t kLookedBack = 64;
  // Numbers of a channel or a row are loaded for every element: 128 bytes a clock and multiprocessor out of L1, by that
  // rate a seventh of what the same bytes take out of memory on an H200. The programs marked 'choose' bear it out;
  // other cards are taken to be alike.
  static constexpr double kFromL1 = 0.14, kMuchSmaller = 8, kParameterBytes = 4;
  static constexpr double kBusy = 6;  // operations a byte from which a kernel is counted by both
  const ProgramFile& program_;
  ProgramCard card_;
  std::vector<bool> images_last_;  // by graph
  FusedProgram made_;
  InlinedProgram inline_;
  std::vector<State> states_;
  std::vector<int> level_, maker_;
  std::vector<std::vector<int>> readers_;
  std::vector<FuseKind> kinds_;
};

}  // namespace

Count parts_of_sum(Count length, Count results, const ProgramCard& card) {
  constexpr Count kThreads = 256, kLeastEach = 32, kMostEach = 512, kShort = 8192;
  if (results < 1 || results >= 2 * card.sms || length <= kShort) return 1;
  const Count device = card.sms * card.threads_per_sm;
  // The divisor next to what is wanted, if one is near enough.
  const auto evenly = [&](Count wanted, Count near) {
    for (Count away = 0; away < near; ++away) {
      if (wanted > away && length % (wanted - away) == 0) return wanted - away;
      if (length % (wanted + away) == 0) return wanted + away;
    }
    return wanted;
  };
  Count each = kLeastEach;
  const double all = static_cast<double>(length) * static_cast<double>(results), whole = static_cast<double>(device);
  if (all >= static_cast<double>(kMostEach) * whole) {
    each = evenly(kMostEach, 50);
  } else if (all > static_cast<double>(kLeastEach) * whole) {
    const Count blocks = ceil_div(device / (2 * kThreads), results);
    each = std::max(kLeastEach, evenly(ceil_div(length, kThreads * blocks), 30));
  }
  return ceil_div(length, each * kThreads);
}

FusedProgram fuse(const ProgramFile& program, const ProgramCard& card) { return Fuser(program, card).run(); }

}  // namespace tilecast
