#include "model/program_file.h"

#include "model/program_fuse.h"
#include "model/program_lower.h"
#include "targets.h"

namespace tilecast {

std::string fuzz_program_file(std::string_view input) {
  const auto program = program_from_json(input, "fuzz.json");
  if (!program) return program.error().problem.empty() ? "an error without a text" : "";
  const std::vector<Count> held = memory_over_calls(*program);
  for (const Count bytes : held)
    if (bytes < 0) return "less than no memory";
  for (const ProgramOperator& op : program->operators)
    for (const ProgramKernel& kernel : lower_operator(*program, op).kernels)
      if (kernel.times < 1) return "a kernel that is never launched";
  if (fuse(*program).group_of_call.size() != program->calls.size()) return "calls that belong nowhere";
  return held.size() == program->calls.size() + 1 ? "" : "calls without memory";
}

}  // namespace tilecast
