// Lists whose items may carry settings.
#pragma once

#include <string>
#include <vector>

namespace tilecast {

// `name=value` belongs to the item before it: {"fp8", "head=bf16", "bf16"} is {"fp8,head=bf16", "bf16"}.
std::vector<std::string> with_settings(const std::vector<std::string>& items);

}  // namespace tilecast
