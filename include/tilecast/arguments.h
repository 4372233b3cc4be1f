// The arguments of every question, as data: what each is called, what it takes, what it means, and where its value
// goes. Flags, help texts, JSON and any other interface are generated from these lists, so none of them can drift from
// the query structs.
//
//   KernelQuery query;
//   for (const BoundArgument& argument : arguments_of(query))
//     if (argument.about.name == "dtype") argument.set("fp8");
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "tilecast/result.h"

namespace tilecast {

enum class ArgumentKind : std::uint8_t {
  yes_no,
  count,   // a whole number: 4096, 800k, 2.5B, 8Ki (docs/glossary.md)
  number,  // likewise, possibly fractional
  size,    // bytes: 256, 64KB (64000), 64KiB or 64K (65536)
  text,
  choice,  // one of `choices`
  list,    // strings, comma separated
  counts,  // whole numbers, comma separated
};

// When an argument applies: while another one has one of these values. Given in any other case it is rejected, because
// an answer that ignored it would look like one that took it into account.
struct Scope {
  std::string argument;                   // "mode"
  std::vector<std::string> values = {};   // {"prefill", "train"}; {""}: not given; empty: given, whatever it is
  std::string problem = {}, remedy = {};  // instead of those derived from the above
};

// What an argument's text may make Tilecast do with files on the machine it runs on. Services that take questions from
// strangers reject arguments by it (answers/outside.h).
enum class Touches : std::uint8_t {
  nothing,
  gpu,      // a description file, unless it is a name or the description itself
  gpus,     // likewise, several of them, each after a number: 16xFILE
  cluster,  // likewise
  model,    // likewise
  counts,   // counts:FILE
  prices,   // a file, unless it is a list of name=value
  file,     // it names a file to read
  output,   // ... to write
  command,  // it is run
};

struct Argument {
  std::string name;  // "kv-len": the flag --kv-len, the JSON field kv_len
  ArgumentKind kind = ArgumentKind::text;
  std::string help = {};
  std::string unit = {};                                    // "tokens", "GB/s"; empty if it has none
  std::string example = {};                                 // a value that makes sense
  std::string fallback = {};                                // its value if not given; empty: none
  double least = -std::numeric_limits<double>::infinity();  // for counts and numbers
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};
  std::vector<std::string> aliases = {};  // other names for it, used by other tools
  bool required = false;
  bool positional = false;         // given without its name on a command line
  bool repeated = false;           // may be given several times
  std::string group = {};          // its heading in help; empty: the main one
  std::vector<Scope> scopes = {};  // all of them must hold; empty: it always applies
  Touches touches = Touches::nothing;
};

// An argument of one query value: `set` parses a text into its field and rejects what the argument does not take,
// naming the argument; `get` is the inverse. Both refer to the query, which must outlive them.
struct BoundArgument {
  Argument about;
  std::function<Status(std::string_view)> set;
  std::function<std::string()> get;
};

// Parses a text into the argument of that name; an error if there is none.
Status set_argument(const std::vector<BoundArgument>& arguments, std::string_view name, std::string_view text);

// A question that Tilecast answers: the one `tilecast NAME` asks.
struct Question {
  std::string name;     // "kernel", "plan serve"
  std::string summary;  // one line
  std::vector<std::string> examples;
};

}  // namespace tilecast
