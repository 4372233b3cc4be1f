// Fields of queries as the command line calls them.
#pragma once

#include "support/result.h"

namespace tilecast {

// The error of a query as the command line says it: its field is a flag, or MODEL where that stands without one.
Error as_flag(Error problem);

}  // namespace tilecast
