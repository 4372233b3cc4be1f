// Pictures, pages and timelines of answers for whoever asks from elsewhere: what the commands write
// (answers/drawings.h).
#pragma once

#include "answers/drawings.h"

namespace tilecast {

const AnswerDrawings& answer_drawings();

}  // namespace tilecast
