// The command line: parses, calls, prints. Every command is a function from options to Result<text>.
#include "cli/flags/flags.h"

int main(int argc, char** argv) { return tilecast::run_tilecast(argc, argv); }
