#include "support/settings.h"

namespace tilecast {

std::vector<std::string> with_settings(const std::vector<std::string>& items) {
  std::vector<std::string> whole;
  for (const std::string& item : items) {
    if (!whole.empty() && item.find('=') != std::string::npos) whole.back() += "," + item;
    else whole.push_back(item);
  }
  return whole;
}

}  // namespace tilecast
