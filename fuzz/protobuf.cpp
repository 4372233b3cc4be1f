#include "support/protobuf.h"

#include "targets.h"

namespace tilecast {
namespace {

// Every field, and inside the fields that are messages, so deep as the levels allow.
std::string wrong_with_message(std::string_view message, int levels) {
  WireReader reader(message);
  while (const auto field = reader.next()) {
    if (field->type != WireType::bytes) continue;
    if (field->bytes.size() > message.size()) return "a field longer than its message";
    std::vector<Count> integers;
    std::vector<double> numbers;
    append_varints(*field, 16, integers);
    append_floats(*field, 4, 16, numbers);
    if (integers.size() > 16 || numbers.size() > 16) return "more numbers than were asked for";
    if (levels == 0) continue;
    if (std::string wrong = wrong_with_message(field->bytes, levels - 1); !wrong.empty()) return wrong;
  }
  if (reader.where() < message.data() || reader.where() > message.data() + message.size()) return "a place outside";
  return "";
}

}  // namespace

std::string fuzz_protobuf(std::string_view input) {
  std::string_view rest = input;
  while (const auto message = take_delimited(rest))
    if (std::string wrong = wrong_with_message(*message, 2); !wrong.empty()) return wrong;
  return wrong_with_message(input, 4);
}

}  // namespace tilecast
