// `tilecast-lab attention`: an H200's attention by implementation, seen and left out.
#pragma once

#include <string>

#include "tilecast/result.h"

namespace tilecast {

struct AttentionCommand {
  std::string measurements = "data/measurements/h200_attention_rows.csv.gz";
  std::string data;  // a folder of others' tables
  std::string out;   // a page to write instead of printing text
};
Result<std::string> run_attention(const AttentionCommand& command);

}  // namespace tilecast
