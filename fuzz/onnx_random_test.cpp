// Graphs that no exporter would write: every operator on inputs of any shape, with attributes and constants at random.
// Each must end in a graph whose shapes a user could have given, or in one line; the fuzzers' checks apply.
#include <gtest/gtest.h>

#include <random>

#include "model/onnx.h"
#include "model/onnx_testing.h"
#include "targets.h"

namespace tilecast {
namespace {

using namespace onnx_testing;

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed), ops_(supported_onnx_operators()) {}

  std::string file() {
    Writer w;
    names_.clear();
    usual_ = any_dims();
    for (int i = 0; i < 3; ++i) add_input(w), add_constant(w), add_weight(w);
    for (Count nodes = pick(4) + 1; nodes > 0; --nodes) add_node(w);
    w.output(names_.back());
    for (Count more = pick(3); more > 0; --more) w.output(any_name());
    return w.file("random", std::vector<Count>{9, 11, 13, 18, 23}[static_cast<std::size_t>(pick(5))]);
  }

 private:
  Count pick(Count below) { return static_cast<Count>(random_() % static_cast<std::uint64_t>(below)); }
  std::string fresh() { return "v" + std::to_string(names_.size()); }
  const std::string& any_name() { return names_[static_cast<std::size_t>(pick(static_cast<Count>(names_.size())))]; }

  // Mostly what fits, sometimes what nothing does.
  Count number() {
    static constexpr Count kOdd[] = {
        0, -1, -2, 1, 2, 1 << 20, Count{1} << 40, 9223372036854775807, -9223372036854775807 - 1};
    return pick(6) == 0 ? kOdd[pick(9)] : pick(5) - 1;
  }
  // Tensors of one shape fit together.
  std::vector<Count> dims() { return pick(3) ? usual_ : any_dims(); }
  std::vector<Count> any_dims() {
    static constexpr Count kSizes[] = {1, 2, 4, 8, 16, 0, 3};
    std::vector<Count> list;
    for (Count rank = pick(5); rank >= 0; --rank)
      list.push_back(pick(80) == 0 ? Count{1} << 45 : kSizes[pick(pick(3) ? 4 : 7)]);
    return list;
  }
  std::vector<Count> numbers() {
    std::vector<Count> list;
    for (Count n = pick(5); n > 0; --n) list.push_back(number());
    return list;
  }
  void add_input(Writer& w) {
    names_.push_back(fresh());
    const std::vector<Count> d = dims();
    w.input(names_.back(), {d.begin(), d.end()}, pick(4) == 0 ? onnx_type::kInt64 : onnx_type::kFloat);
  }
  void add_weight(Writer& w) { names_.push_back(w.weight(fresh(), dims())); }
  void add_constant(Writer& w) {
    if (pick(4) == 0) names_.push_back(w.number(fresh(), static_cast<float>(number())));
    else if (pick(3) == 0) names_.push_back(w.integers(fresh(), {number()}, true));
    else names_.push_back(w.integers(fresh(), numbers()));
  }
  void add_node(Writer& w) {
    static constexpr std::string_view kAttributes[] = {"axis",
                                                       "axes",
                                                       "perm",
                                                       "keepdims",
                                                       "kernel_shape",
                                                       "strides",
                                                       "pads",
                                                       "dilations",
                                                       "group",
                                                       "output_padding",
                                                       "output_shape",
                                                       "blocksize",
                                                       "num_heads",
                                                       "kv_num_heads",
                                                       "q_num_heads",
                                                       "transA",
                                                       "transB",
                                                       "start",
                                                       "end",
                                                       "to",
                                                       "split",
                                                       "K",
                                                       "N",
                                                       "k",
                                                       "ceil_mode",
                                                       "num_groups",
                                                       "batch_dims",
                                                       "allowzero",
                                                       "do_rotary",
                                                       "shape",
                                                       "value_int",
                                                       "value_ints",
                                                       "local_window_size"};
    std::string op = ops_[static_cast<std::size_t>(pick(static_cast<Count>(ops_.size())))], domain;
    if (op.starts_with("com.microsoft.")) op = op.substr(14), domain = "com.microsoft";
    std::vector<Attribute> attributes;
    for (Count n = pick(3); n > 0; --n) {
      const std::string name(kAttributes[static_cast<std::size_t>(pick(std::size(kAttributes)))]);
      if (pick(2)) attributes.emplace_back(name, number());
      else attributes.emplace_back(name, numbers());
    }
    if (op == "Einsum") attributes.emplace_back("equation", std::string(pick(2) ? "ab,bc->ac" : "abc,abd->acd"));
    std::vector<std::string> inputs;
    for (Count n = pick(4) + 1; n > 0; --n) inputs.push_back(pick(12) == 0 ? "" : any_name());
    std::vector<std::string> outputs = {fresh()};
    for (Count n = pick(3); n > 0; --n) outputs.push_back(outputs[0] + "_" + std::to_string(n));
    w.node(op, outputs[0], inputs, attributes, outputs, domain);
    names_.push_back(outputs[0]);
  }

  std::mt19937_64 random_;
  std::vector<std::string> ops_, names_;
  std::vector<Count> usual_;
};

TEST(OnnxRandom, AnyGraphEndsWell) {
  int accepted = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const std::string file = Generator(seed).file();
    EXPECT_EQ(fuzz_onnx(file), "") << "seed " << seed;
    accepted += graph_from_onnx_bytes(file, "random.onnx", {}).ok();
  }
  EXPECT_GT(accepted, 100) << "the generator reaches too little";
}

}  // namespace
}  // namespace tilecast
