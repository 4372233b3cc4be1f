#include "cli/flags/manual_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/manual/complete.h"
#include "cli/manual/man_page.h"
#include "cli/terminal/border.h"
#include "support/file.h"
#include "support/text.h"
#include "tilecast/build.h"
#include "tilecast/kernel.h"

namespace tilecast {
namespace {

const Argument* declared(const std::string& path, std::string_view name) {
  const auto in = [name](const std::vector<Argument>& arguments) -> const Argument* {
    for (const Argument& about : arguments)
      if (about.name == name || std::find(about.aliases.begin(), about.aliases.end(), name) != about.aliases.end())
        return &about;
    return nullptr;
  };
  for (const KernelFamily& family : kernel_families())
    if (path == "kernel " + family.name)
      if (const Argument* dim = in(family.dims)) return dim;
  const std::string command = path.starts_with("kernel") ? "kernel" : path;
  for (const QuestionForm& form : question_forms())
    if (form.command == command) return in(form.arguments);
  return nullptr;
}

// Flags of the program's own that name files.
Naming own_naming(const std::string& name) {
  for (const char* file : {"--html", "--svg", "--trace", "--requests", "--timeline", "--out", "--output", "--save-dir",
                           "--export-chakra", "--token-file", "--allow-files", "--plot", "FILE"})
    if (name == file) return Naming::output;
  return Naming::nothing;
}

CommandOption option_of(const std::string& path, const CLI::Option& option) {
  CommandOption one;
  for (const std::string& name : option.get_snames()) one.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) one.names.push_back("--" + name);
  one.positional = option.get_positional();
  if (one.positional) one.names = {option.get_name(true)};
  one.value = option.get_items_expected_max() > 0 ? option.get_type_name() : "";
  one.help = option.get_description();
  one.group = option.get_group() == "Options" ? "" : option.get_group();
  one.required = option.get_required();
  std::string name = one.names.empty() ? "" : one.names.back();
  name.erase(0, name.find_first_not_of('-'));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (const Argument* about = declared(path, name)) {
    one.choices = about->choices;
    one.naming = naming_of(path.starts_with("kernel") ? "kernel" : path == "gpu show" ? "gpu" : path, about->name);
    one.list = about->kind == ArgumentKind::list || about->kind == ArgumentKind::counts;
  } else if (!one.names.empty()) {
    one.naming = own_naming(one.names.back());
  }
  one.list |= option.get_delimiter() == ',' || one.naming == Naming::gpus;
  return one;
}

CommandNode node_of(const CLI::App& app, const std::string& path) {
  CommandNode node;
  node.name = app.get_name(), node.path = path;
  node.summary = path.empty() ? "forecast how long deep-learning work takes on GPUs" : app.get_description();
  node.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) node.options.push_back(option_of(path, *option));
  if (app.get_fallthrough() && app.get_parent())  // flags of the command above may stand here too
    for (const CLI::Option* option : app.get_parent()->get_options())
      if (!app.get_option_no_throw(option->get_name())) {
        node.options.push_back(option_of(path, *option));
        node.options.back().group = "inherited";
      }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    node.commands.push_back(node_of(*command, path.empty() ? command->get_name() : path + " " + command->get_name()));
  return node;
}

Answer print_page(const CLI::App& app, const ManualOptions& options) {
  const std::vector<ManPage> pages = man_pages(node_of(app, ""), build_info().date);
  const std::string command = join(options.page, " ");
  std::string wanted = command.empty() ? "tilecast.1" : "tilecast-" + command + ".1";
  std::replace(wanted.begin(), wanted.end(), ' ', '-');
  std::vector<std::string> names;
  for (const ManPage& page : pages) {
    if (page.name == wanted && options.folder.empty()) return Result<std::string>(page.text);
    constexpr std::string_view kBefore = "tilecast-", kAfter = ".1";  // "tilecast-plan-serve.1"
    if (page.name.starts_with(kBefore))
      names.push_back(page.name.substr(kBefore.size(), page.name.size() - kBefore.size() - kAfter.size()));
  }
  if (options.folder.empty())
    return error("no command is called '" + command + "'", suggestion(command, names, "`tilecast --help` lists them"));
  std::error_code failure;
  std::filesystem::create_directories(options.folder, failure);
  for (const ManPage& page : pages)
    if (auto written = write_text_file((std::filesystem::path(options.folder) / page.name).string(), page.text);
        !written)
      return written.error();
  return Result<std::string>(std::to_string(pages.size()) + " pages written to " + options.folder + "\n");
}

}  // namespace

void add_manual_commands(CLI::App& app, ManualOptions& options, Command& chosen) {
  CLI::App* completion =
      app.add_subcommand("completion", "print the script by which a shell completes commands, flags and names");
  completion->add_option("SHELL", options.shell, "bash, zsh or fish")->required();
  completion->footer("Example:\n  tilecast completion bash > ~/.local/share/bash-completion/completions/tilecast");
  completion->callback([&] { chosen = [&options]() -> Answer { return completion_script(options.shell); }; });

  CLI::App* manual = app.add_subcommand("manual", "print a command's manual page, for `man -l -`");
  manual->add_option("COMMAND", options.page, "its name, plan serve (default: the program's own page)");
  manual->add_option("-o,--output", options.folder, "write the pages of all commands into this folder instead");
  manual->footer("Example:\n  tilecast manual predict | man -l -");
  manual->callback([&app, &options, &chosen] { chosen = [&app, &options] { return print_page(app, options); }; });
}

bool is_completion_request(int argc, char** argv) {
  return argc > 3 && std::string_view(argv[1]) == "completion" && std::string_view(argv[2]) == "words" &&
         argv[argc - 1][0] == '@';
}

int complete_words(const CLI::App& app, int argc, char** argv) {
  const std::string program = app.get_name();
  return guarded(program, [&] {
    const std::vector<std::string> before(argv + 3, argv + argc - 1);
    const std::string current = std::string(argv[argc - 1]).substr(1);
    // Past the border, which would show the tabs that fish wants: words are our own or repeat those of the shell.
    const std::string text = completions_text(completions(node_of(app, ""), before, current));
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? kDone : kFailed;
  });
}

}  // namespace tilecast
