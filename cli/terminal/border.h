// The border between commands and the terminal: everything the program prints at its end goes through here. No
// exception passes it, no control character from outside, and no text is lost without a word.
#pragma once

#include <functional>
#include <string>

#include "cli/terminal/colour.h"
#include "tilecast/result.h"

namespace tilecast {

enum ExitCode : int { kDone = 0, kFailed = 1, kRefused = 2 };

// Each takes the name of the program, which its lines on standard error begin with.

// Prints to standard output: tables folded to the width of a terminal (fold.h), marks as colours where that is wished.
// A full disk or a closed pipe is one line on standard error.
int print_output(const std::string& program, const std::string& text, ColourWish colour = ColourWish::automatic);

// One line on standard error.
int print_refusal(const std::string& program, const Error& error, ColourWish colour = ColourWish::automatic);

// What `run` returns; an exception that escapes it is one line on standard error.
int guarded(const std::string& program, const std::function<int()>& run);

}  // namespace tilecast
