#include "serve/launch_blanks.h"

#include <fmt/format.h>

#include <algorithm>

#include "serve/launch_words.h"

namespace tilecast {
namespace {

std::string how(const LaunchBlank& blank) {
  std::string text = fmt::format("fill in {} in this folder's files: sed -i 's|{}|THE-NAME|g' ./*.sh ./*.yaml",
                                 blank.what, blank.name);
  for (char& c : text)
    if (c >= 0 && c < ' ') c = ' ';  // a model's name may be anything, and must not end a comment
  return text;
}

}  // namespace

std::vector<LaunchBlank> launch_blanks(const std::vector<LaunchOptions>& pools) {
  std::vector<LaunchBlank> blanks;
  const auto add = [&](LaunchBlank blank) {
    const bool known =
        std::any_of(blanks.begin(), blanks.end(), [&](const LaunchBlank& other) { return other.name == blank.name; });
    if (!known) blanks.push_back(std::move(blank));
  };
  for (const LaunchOptions& o : pools) {
    if (lacks_checkpoint(o))
      add({served_model(o), fmt::format("a checkpoint of {} in {}", o.model, o.dtype), false, true});
    if (o.features.draft > 0 && o.features.drafting == Drafting::eagle)
      add({std::string(kNameAnEagleHead), "an EAGLE-3 head that was trained for the model"});
    if (image_of(o) == kNameAnImage)
      add({std::string(kNameAnImage), fmt::format("an image of {} for ROCm and this card", release_of(o.engine)),
           true});
  }
  return blanks;
}

std::string blanks_guard(const std::vector<LaunchBlank>& blanks) {
  std::string text;
  for (const LaunchBlank& blank : blanks)
    text += fmt::format("blank={}\nif [ \"${{blank#NAME-A}}\" != \"$blank\" ]; then\n  echo {} >&2\n  exit 2\nfi\n",
                        shell_word(blank.name, {}), shell_word("first " + how(blank), {}));
  return text;
}

std::string blanks_comment(const std::vector<LaunchBlank>& blanks) {
  std::string text;
  for (const LaunchBlank& blank : blanks) text += "# First " + how(blank) + "\n";
  return text;
}

}  // namespace tilecast
