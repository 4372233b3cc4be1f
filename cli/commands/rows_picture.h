// Rows that were asked over a range as a picture: what --plot writes, and what the service draws.
#pragma once

#include "answers/drawings.h"

namespace tilecast {

// The bytes of an SVG or a PNG file.
Result<std::string> rows_picture(const AnswerRows& rows, const AnswerChart& chart);

// All that is drawn for whoever asks from elsewhere.
const AnswerDrawings& served_drawings();

}  // namespace tilecast
