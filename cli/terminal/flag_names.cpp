#include "cli/terminal/flag_names.h"

#include <utility>

namespace tilecast {

Error as_flag(Error problem) {
  if (problem.field.empty() || !problem.place.empty()) return problem;
  if (problem.field == "model") problem.place = "MODEL", problem.field.clear();
  else problem.field = "--" + problem.field;
  return problem;
}

}  // namespace tilecast
