// `tilecast http`.
#pragma once

#include "service/http/settings.h"

namespace tilecast {

// Serves until it is told to end by SIGINT or SIGTERM. Says on standard error where.
Status run_http(const HttpOptions& options);

}  // namespace tilecast
