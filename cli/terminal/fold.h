// Texts made for wide windows, as narrower ones show them. Tables that are too wide are cut between columns into parts
// below one another, each with the first column, and long lines of help go on below their own beginning:
//
//   GPU       engine  dtype     step        GPU       engine  dtype
//   H100-SXM  vllm    bf16   9.56 ms   =>   H100-SXM  vllm    bf16
//
//                                           GPU          step
//                                           H100-SXM  9.56 ms
//
// Terminals alone: pipes and files get a text as it is, and other long lines, such as commands to be copied, are left
// to the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tilecast {

// Columns of the terminal at this file descriptor; 0 if it is none, or does not say.
std::size_t terminal_width(int descriptor);

// Tables (`Table::shown`) wider than `width` in parts; 0: as they are. A table whose first column and another one do
// not fit beside each other stays whole.
std::string folded(std::string_view text, std::size_t width);

// The lines of a help text wrapped between words.
std::string wrapped_help(std::string_view help, std::size_t width);

}  // namespace tilecast
