// Answers in other forms than JSON, by the Accept field of a request: rows as CSV, and a chart of what was asked over a
// range, as the command line's --csv and --plot write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "answers/rows.h"
#include "service/http/message.h"

namespace tilecast {

struct AnswerDrawings;

enum class RowsForm : unsigned char { csv, svg, png };

// The form that a client would rather have than JSON; nothing where JSON is as good.
std::optional<RowsForm> rows_form(std::string_view accept);

// Rows of a question; `plot_y` names the column that a chart draws, empty: the question's own.
Result<HttpResponse> rows_response(RowsForm form, const AnswerRows& rows, std::string_view question,
                                   std::string_view query, const std::string& plot_y, const AnswerDrawings* drawings);

}  // namespace tilecast
