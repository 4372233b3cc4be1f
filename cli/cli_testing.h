// For tests of the command line only: runs the real binary.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "support/test_folder.h"
#include "test_paths.h"

namespace tilecast {

struct Ran {
  int code = -1;  // exit status; -1 when it died otherwise
  std::string out, err;
};

inline std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string scratch_path(const std::string& name) { return (process_folder() / name).string(); }

// A line as a shell reads it. What it writes to standard error is kept apart.
inline Ran run_shell(const std::string& line) {
  const std::string errors = scratch_path("stderr");
  Ran ran;
  std::FILE* pipe = popen(("exec 2>'" + errors + "'; " + line).c_str(), "r");
  if (!pipe) return ran;
  char block[4096];
  while (const std::size_t got = std::fread(block, 1, sizeof block, pipe)) ran.out.append(block, got);
  const int status = pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ran.err = file_text(errors);
  std::remove(errors.c_str());
  return ran;
}

// The laboratory: commands on measured tables.
inline bool is_of_the_lab(const std::string& arguments) {
  for (const char* command : {"import ", "train ", "evaluate ", "accuracy ", "papers ", "endtoend ", "collectives ",
                              "tune-judge ", "fit ", "coverage "})
    if ((arguments + " ").starts_with(command)) return true;
  return false;
}
// The program that has the command, as a shell says it.
inline std::string program_for(const std::string& arguments) {
  return is_of_the_lab(arguments) ? "'" TILECAST_LAB_BINARY "' " : "'" TILECAST_BINARY "' ";
}

// `arguments` as a shell reads them.
inline Ran run_tilecast(const std::string& arguments) { return run_shell(program_for(arguments) + arguments); }

}  // namespace tilecast
