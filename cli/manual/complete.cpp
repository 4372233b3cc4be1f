#include "cli/manual/complete.h"

#include <algorithm>
#include <utility>

#include "support/text.h"

namespace tilecast {
namespace {

const CommandOption* option_named(const CommandNode& node, std::string_view word) {
  for (const CommandOption& option : node.options)
    if (!option.positional && std::find(option.names.begin(), option.names.end(), word) != option.names.end())
      return &option;
  return nullptr;
}

const CommandNode* command_named(const CommandNode& node, std::string_view word) {
  for (const CommandNode& command : node.commands)
    if (command.name == word) return &command;
  return nullptr;
}

// Where a command line stands after some of its words.
struct Place {
  const CommandNode* node = nullptr;
  const CommandOption* pending = nullptr;  // an option whose value comes next
  std::size_t positionals = 0;             // that were given
};

Place place_after(const CommandNode& program, const std::vector<std::string>& words) {
  Place at{&program};
  for (const std::string& word : words) {
    if (word == "=") continue;  // bash cuts --gpu=H100 into three
    if (at.pending) {
      at.pending = nullptr;
    } else if (word.starts_with("-")) {
      const CommandOption* option = option_named(*at.node, word);
      if (option && !option->value.empty()) at.pending = option;
    } else if (const CommandNode* command = command_named(*at.node, word)) {
      at.node = command;
    } else {
      ++at.positionals;
    }
  }
  return at;
}

void add_values(std::vector<Completion>& found, const CommandOption& option, const std::string& current) {
  // Of a list, the part behind the last comma.
  const auto comma = option.list ? current.rfind(',') : std::string::npos;
  const std::string begun = comma == std::string::npos ? "" : current.substr(0, comma + 1);
  for (const std::string& value : known_values(option)) found.push_back({begun + value, ""});
  if (takes_file(option) && begun.empty()) found.push_back({kFiles, ""});
}

void add_options(std::vector<Completion>& found, const CommandNode& node) {
  for (const CommandOption& option : node.options)
    for (const std::string& name : option.names)
      if (name.starts_with("--")) found.push_back({name, option.help});
}

void add_positionals(std::vector<Completion>& found, const Place& at, const std::string& current) {
  std::size_t number = 0;
  for (const CommandOption& option : at.node->options)
    if (option.positional && number++ == at.positionals) return add_values(found, option, current);
}

// The word at the cursor goes with an @ before it, as it may be empty.
constexpr std::string_view kBashScript = R"sh(# bash completion for tilecast
_tilecast() {
  local current=${COMP_WORDS[COMP_CWORD]} offered files line
  local words=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
  COMPREPLY=()
  offered=$("${COMP_WORDS[0]}" completion words "${words[@]}" "@$current" 2> /dev/null) || return 0
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o filenames 2> /dev/null
      files=$(compgen -f -- "$current")
      while IFS= read -r line; do [[ -z $line ]] || COMPREPLY+=("$line"); done <<< "$files"
    elif [[ -n $line ]]; then
      COMPREPLY+=("${line%%$'\t'*}")
    fi
  done <<< "$offered"
  return 0
}
complete -F _tilecast tilecast
)sh";

constexpr std::string_view kZshScript = R"sh(#compdef tilecast
_tilecast() {
  local line files=0
  local -a plain
  for line in "${(@f)$("${words[1]}" completion words "${(@)words[2,CURRENT-1]}" "@${words[CURRENT]}" 2> /dev/null)}"; do
    if [[ $line == :files ]]; then
      files=1
    elif [[ -n $line ]]; then
      plain+=("${line%%$'\t'*}")
    fi
  done
  (( ${#plain} )) && compadd -- "${plain[@]}"
  (( files )) && _files
}
if [[ $funcstack[1] == _tilecast ]]; then _tilecast "$@"; else compdef _tilecast tilecast; fi
)sh";

constexpr std::string_view kFishScript = R"sh(# fish completion for tilecast
function __tilecast_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    for line in ($before[1] completion words $before[2..-1] "@$current" 2> /dev/null)
        if test "$line" = ":files"
            __fish_complete_path $current
        else
            echo $line
        end
    end
end
complete -c tilecast -f -a '(__tilecast_complete)'
)sh";

}  // namespace

std::vector<Completion> completions(const CommandNode& program, const std::vector<std::string>& before,
                                    const std::string& current) {
  const Place at = place_after(program, before);
  std::vector<Completion> found;
  const auto equals = current.find('=');
  const std::string word = current == "=" ? "" : current;
  if (at.pending) {
    add_values(found, *at.pending, word);
  } else if (current.starts_with("--") && equals != std::string::npos) {
    if (const CommandOption* option = option_named(*at.node, current.substr(0, equals))) {
      add_values(found, *option, current.substr(equals + 1));
      for (Completion& one : found)
        if (one.word != kFiles) one.word.insert(0, current.substr(0, equals + 1));
    }
  } else if (current.starts_with("-")) {
    add_options(found, *at.node);
  } else {
    for (const CommandNode& command : at.node->commands) found.push_back({command.name, command.summary});
    add_positionals(found, at, word);
    if (found.empty()) add_options(found, *at.node);
  }
  const std::string& begun = current == "=" ? word : current;
  std::erase_if(found, [&](const Completion& one) { return one.word != kFiles && !one.word.starts_with(begun); });
  return found;
}

std::string completions_text(const std::vector<Completion>& found) {
  std::string text;
  for (const Completion& one : found) text += one.word + (one.meaning.empty() ? "" : "\t" + one.meaning) + "\n";
  return text;
}

Result<std::string> completion_script(std::string_view shell) {
  for (const auto& [name, script] : {std::pair("bash", kBashScript), {"zsh", kZshScript}, {"fish", kFishScript}})
    if (shell == name) return std::string(script);
  return field_error("shell", "'" + std::string(shell) + "' is not known", "bash, zsh or fish");
}

}  // namespace tilecast
