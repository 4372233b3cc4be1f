// Recorded PyTorch programs (docs/program.md): every operator of a step with the layouts of its tensors, and the life
// of every piece of memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tilecast/result.h"
#include "tilecast/units.h"

namespace tilecast {

struct ProgramLayout {
  std::string dtype;
  bool on_card = false;
  std::vector<Count> shape, strides;  // strides in elements
};

enum class ProgramValue { tensor, tensors, whole, number, truth, wholes, numbers, truths, dtype, text };

struct ProgramArgument {
  std::string name;
  ProgramValue kind = ProgramValue::text;
  std::vector<Count> counts;    // layouts (-1: absent), whole numbers, truths as 0 and 1
  std::vector<double> numbers;  // of number and numbers
  std::string text;             // of dtype and text
};

struct ProgramOperator {
  std::string name;
  bool view = false;  // launches nothing: the results share their inputs' memory
  std::vector<ProgramArgument> arguments;
  std::vector<int> results;  // layouts

  const ProgramArgument* find(std::string_view argument) const;
};

enum class StorageRole { other, parameter, buffer, gradient, optimizer };

struct ProgramStorage {
  Count bytes = 0;
  bool on_card = false;
  StorageRole role = StorageRole::other;
  int born = -1;  // the call that makes it; -1: before the first
  int dies = -1;  // the last call before it is let go; -1: it stays
};

struct ProgramCall {
  int op = 0, module = 0, phase = 0;
  std::vector<int> reads, writes;  // storages
  int graph = -1;                  // of a compiler's, decomposed and partitioned; -1: it runs as it is
  int stream = 0;                  // of the card's; 0 is the one that programs run on
};

// Cards that call collectives together.
struct ProcessGroup {
  std::string name;
  std::vector<int> ranks;
};

// Before call `call` is issued to any stream, `stream` waits for the calls issued to `other` before `until`.
struct StreamWait {
  int call = 0, stream = 0, other = 0, until = 0;
};

// What the recorder was told about an operator without a rule: bytes relative to those of all its tensor arguments and
// of all its results, and operations per element of the first result.
struct OperatorFormula {
  std::string op;  // "my_library.my_operator"
  double read = 1, written = 1;
  double flops = 0;
};

struct ProgramFile {
  std::string name, torch;
  bool from_inductor = false;  // calls say in which graph of Inductor's they are; else the program is an eager one
  std::vector<std::string> modules, phases;
  std::vector<ProgramLayout> layouts;
  std::vector<ProgramOperator> operators;
  std::vector<ProgramStorage> storages;
  std::vector<ProgramCall> calls;
  std::vector<OperatorFormula> formulas;
  int world = 1, rank = 0;  // cards that the program runs over, and the one that was recorded
  std::vector<ProcessGroup> groups;
  std::vector<StreamWait> waits;
};

Result<ProgramFile> program_from_json(std::string_view text, const std::string& place);
// Plain or gzip.
Result<ProgramFile> program_from_file(const std::string& path);

// Whether a JSON text is meant as a recorded program.
bool looks_like_program_json(std::string_view text);

// The card's bytes at each call, as asked for; the last entry is after the last call.
std::vector<Count> memory_over_calls(const ProgramFile& program);
Count peak_bytes(const ProgramFile& program);

}  // namespace tilecast
