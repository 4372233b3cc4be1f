#include "estimate/weights.h"

#include "estimate/neusight.h"
#include "estimate/packed.h"
#include "estimate/synperf.h"
#include "targets.h"

namespace tilecast {
namespace {

template <class T>
std::string wrong_with(const Result<T>& read) {
  return !read && read.error().problem.empty() ? "an error without a text" : "";
}

std::string wrong_with_files(std::string_view bytes) {
  if (std::string wrong = wrong_with(weights_from_bytes(bytes, "fuzz.weights")); !wrong.empty()) return wrong;
  if (std::string wrong = wrong_with(neusight_from_bytes(bytes, "fuzz.weights")); !wrong.empty()) return wrong;
  if (std::string wrong = wrong_with(synperf_from_bytes(bytes, "fuzz.weights")); !wrong.empty()) return wrong;
  const auto lazy = LazyWeights::from_bytes(bytes, "fuzz.weights");
  if (lazy) (*lazy)->find("gemm bf16");
  return wrong_with(lazy);
}

std::string packed_as(std::string_view method, std::string_view payload) {
  PackWriter writer;
  for (const char c : payload) writer.number(c);
  return pack(method, writer, 0);
}

}  // namespace

std::string fuzz_weights(std::string_view input) {
  if (std::string wrong = wrong_with_files(input); !wrong.empty()) return wrong;
  // A checksum keeps changed bytes out; behind it are the readers of what it covers.
  for (const std::string_view method : {"tilecast", "neusight", "synperf"})
    if (std::string wrong = wrong_with_files(packed_as(method, input)); !wrong.empty()) return wrong;
  PackWriter one;  // a file of one model, whose payload is the input
  one.counts({});
  one.count(1);
  one.text("gemm bf16");
  one.view(packed_as("model", input));
  return wrong_with_files(pack("tilecast", one, 0));
}

}  // namespace tilecast
