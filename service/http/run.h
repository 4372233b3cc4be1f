// `tilecast http`.
#pragma once

#include "service/http/settings.h"

namespace tilecast {

struct AnswerDrawings;

// Serves until it is told to end by SIGINT or SIGTERM. Says on standard error where.
Status run_http(const HttpOptions& options, const AnswerDrawings& drawings);

}  // namespace tilecast
