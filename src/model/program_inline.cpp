#include "model/program_inline.h"

#include <algorithm>
#include <map>

namespace tilecast {
namespace {

// A result with several readers is made after all if it reads more tensors than this, or takes more operations; one
// with a single reader if it reads many more (config.py: realize_reads_threshold, realize_opcount_threshold,
// realize_acc_reads_threshold).
constexpr std::size_t kReadsWhenShared = 4, kMostReads = 8;
constexpr int kOperationsWhenShared = 30;

bool is_random(std::string_view base) { return base == "prims.inductor_random" || base == "prims.inductor_randint"; }

// Instructions for an element, estimated, not counted in compiled code: polynomials of the usual length, and ten rounds of Philox
// with two wide products each for every random number.
double instructions_of(std::string_view base) {
  static const std::map<std::string_view, double> known = {{"erf", 25},
                                                           {"tanh", 20},
                                                           {"sin", 20},
                                                           {"cos", 20},
                                                           {"exp", 5},
                                                           {"log", 8},
                                                           {"sigmoid", 10},
                                                           {"div", 6},
                                                           {"sqrt", 5},
                                                           {"rsqrt", 5},
                                                           {"reciprocal", 5},
                                                           {"pow", 2},
                                                           {"where", 2},
                                                           {"log1p", 12},
                                                           {"expm1", 12},
                                                           {"prims.inductor_random", 120},
                                                           {"prims.inductor_randint", 120}};
  const auto found = known.find(base);
  return found == known.end() ? 1 : found->second;
}

// Places of other operands say what is read: an embedding's table is not read whole.
bool looks_up(std::string_view base) {
  return base == "embedding" || base == "index" || base == "index_select" || base == "gather" ||
         base == "_unsafe_index" || base == "_unsafe_masked_index";
}

class Inliner {
 public:
  Inliner(const ProgramFile& program, const std::vector<FuseKind>& kinds) : program_(program), kinds_(kinds) {
    const std::size_t calls = program.calls.size();
    made_.inlined.assign(calls, false), made_.reads.resize(calls), made_.work.assign(calls, 0);
    made_.never_made.assign(program.storages.size(), false);
    inside_.resize(program.storages.size());
    count_readers();
  }

  InlinedProgram run() {
    for (std::size_t i = 0; i < program_.calls.size(); ++i)
      if (kinds_[i] != FuseKind::quiet) visit(i);
    return std::move(made_);
  }

 private:
  struct Inside {  // a storage that is never made, as what computes it
    std::vector<InlinedRead> reads;
    int operations = 0;
    double work = 0;
    bool random = false;
  };

  void count_readers() {
    readers_.assign(program_.storages.size(), 0), apart_.assign(program_.storages.size(), false);
    for (std::size_t i = 0; i < program_.calls.size(); ++i) {
      if (kinds_[i] == FuseKind::quiet) continue;
      for (const int s : program_.calls[i].reads) {
        const int born = program_.storages[static_cast<std::size_t>(s)].born;
        const bool kept = born >= 0 && program_.calls[static_cast<std::size_t>(born)].graph != program_.calls[i].graph;
        ++readers_[static_cast<std::size_t>(s)];
        const auto& writes = program_.calls[i].writes;
        const bool added_to = std::find(writes.begin(), writes.end(), s) != writes.end();
        if (kept || added_to || kinds_[i] == FuseKind::apart) apart_[static_cast<std::size_t>(s)] = true;
      }
    }
  }

  void visit(std::size_t index) {
    const ProgramCall& call = program_.calls[index];
    const ProgramOperator& op = program_.operators[static_cast<std::size_t>(call.op)];
    const OperatorView view(program_, op);
    Inside all = gather(call, view);
    const std::string_view base = operator_base(op.name);
    all.random = all.random || is_random(base);
    all.work += instructions_of(base) * static_cast<double>(walked(view, kinds_[index]));
    if (call.graph >= 0 && kinds_[index] == FuseKind::pointwise && may_inline(call, all)) {
      made_.inlined[index] = true;
      for (const int s : call.writes)
        made_.never_made[static_cast<std::size_t>(s)] = true, inside_[static_cast<std::size_t>(s)] = all;
      return;
    }
    made_.reads[index] = std::move(all.reads), made_.work[index] = all.work;
  }

  Inside gather(const ProgramCall& call, const OperatorView& view) const {
    const std::vector<const ProgramLayout*> inputs = view.inputs();
    const ProgramLayout* out = view.result();
    const bool limited = looks_up(operator_base(view.name())) && out;
    Inside all;
    all.operations = 1;
    for (std::size_t i = 0; i < std::min(inputs.size(), call.reads.size()); ++i) {
      if (!inputs[i]->on_card) continue;
      const auto s = static_cast<std::size_t>(call.reads[i]);
      if (made_.never_made[s]) {
        all.operations += inside_[s].operations, all.work += inside_[s].work;
        all.random = all.random || inside_[s].random;
        for (const InlinedRead& read : inside_[s].reads) add(all.reads, read);
        continue;
      }
      const double whole = std::min(bytes_of(*inputs[i]), static_cast<double>(program_.storages[s].bytes));
      if (const int bias = added_bias(call, call.reads[i]); bias >= 0) add(all.reads, {bias, 0, 4, nullptr});
      add(all.reads, {call.reads[i], limited ? std::min(whole, bytes_of(*out)) : whole, element_bytes(inputs[i]->dtype),
                      inputs[i]});
    }
    return all;
  }

  // The bias of the convolution that made a storage, where whatever reads it adds that too; else -1.
  int added_bias(const ProgramCall& reader, int storage) const {
    const int born = program_.storages[static_cast<std::size_t>(storage)].born;
    if (reader.graph < 0 || born < 0 || program_.calls[static_cast<std::size_t>(born)].graph != reader.graph) return -1;
    const ProgramCall& maker = program_.calls[static_cast<std::size_t>(born)];
    const ProgramOperator& op = program_.operators[static_cast<std::size_t>(maker.op)];
    constexpr std::size_t kBias = 2;  // after the images and the filter
    const bool has_bias = operator_base(op.name) == "convolution" && maker.reads.size() > kBias;
    return has_bias ? maker.reads[kBias] : -1;
  }

  static Count walked(const OperatorView& view, FuseKind kind) {
    Count most = view.result() ? elements_of(*view.result()) : 0;
    if (kind != FuseKind::pointwise)
      for (const ProgramLayout* in : view.inputs()) most = std::max(most, elements_of(*in));
    return most;
  }

  static void add(std::vector<InlinedRead>& reads, const InlinedRead& read) {
    for (InlinedRead& known : reads)
      if (known.storage == read.storage) {
        known.bytes = std::max(known.bytes, read.bytes);
        return;
      }
    reads.push_back(read);
  }

  bool may_inline(const ProgramCall& call, const Inside& all) const {
    int readers = 0;
    for (const int s : call.writes) {
      const auto at = static_cast<std::size_t>(s);
      const ProgramStorage& storage = program_.storages[at];
      const bool in_place = std::find(call.reads.begin(), call.reads.end(), s) != call.reads.end();
      if (storage.born < 0 || storage.dies < 0 || in_place || apart_[at]) return false;
      readers += readers_[at];
    }
    if (readers == 0) return false;
    if (all.reads.empty()) return true;
    if (readers == 1) return all.reads.size() <= kMostReads;
    return all.reads.size() <= kReadsWhenShared && all.operations <= kOperationsWhenShared && !all.random;
  }

  const ProgramFile& program_;
  const std::vector<FuseKind>& kinds_;
  InlinedProgram made_;
  std::vector<Inside> inside_;
  std::vector<int> readers_;
  std::vector<bool>
      apart_;  // by storage: a product or another graph reads it from memory, or something is added to it there
};

}  // namespace

InlinedProgram inline_pointwise(const ProgramFile& program, const std::vector<FuseKind>& kinds) {
  return Inliner(program, kinds).run();
}

}  // namespace tilecast
