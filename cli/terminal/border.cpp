#include "cli/terminal/border.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

#include "cli/terminal/fold.h"
#include "support/file.h"
#include "support/marks.h"
#include "support/printable.h"

namespace tilecast {
namespace {

int print_failure(const std::string& program, const Error& error, ExitCode code,
                  ColourWish colour = ColourWish::automatic) {
  const std::string name = painted(marked(Mark::bad, program + ":"), shows_colour(colour, STDERR_FILENO));
  std::fprintf(stderr, "%s %s\n", name.c_str(), printable_line(error).c_str());
  return code;
}

}  // namespace

int print_output(const std::string& program, const std::string& text, ColourWish colour) {
  const std::string shown = painted(folded(text, terminal_width(STDOUT_FILENO)), shows_colour(colour, STDOUT_FILENO));
  errno = 0;
  const bool whole = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() && std::fflush(stdout) == 0;
  if (whole) return kDone;
  const int code = errno;
  return print_failure(program,
                       {"standard output", "", fmt::format("could not be written to its end: {}", std::strerror(code)),
                        remedy_of_write(code)},
                       kFailed, colour);
}

int print_refusal(const std::string& program, const Error& error, ColourWish colour) {
  return print_failure(program, error, kRefused, colour);
}

int guarded(const std::string& program, const std::function<int()>& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return print_failure(program, error("ran out of memory", "a smaller input, or a machine with more"), kFailed);
  } catch (const std::exception& failure) {
    const std::string what = std::string("went wrong inside: ") + failure.what();
    return print_failure(program, error(what, "please report it with the command"), kFailed);
  }
}

}  // namespace tilecast
