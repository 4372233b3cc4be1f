// The program's commands with their flags, made from the declared arguments of every question.
#pragma once

namespace tilecast {

// Reads the command line, runs the command it names and answers with the exit status.
int run_tilecast(int argc, char** argv);

}  // namespace tilecast
