// Examples of what every command can do with rows: ranges, --csv and --plot.
#pragma once

#include <string>

#include "tilecast/arguments.h"
#include "tilecast/kernel.h"

namespace tilecast {

// The examples of a question as help shows them, with those of its rows behind.
std::string all_examples(const Question& question);

// Of a kernel family: its own example on several GPUs, and over two values of its first number.
std::string family_examples(const KernelFamily& family);

}  // namespace tilecast
