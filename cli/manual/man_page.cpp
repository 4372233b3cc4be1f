#include "cli/manual/man_page.h"

#include <algorithm>
#include <cctype>

#include "support/text.h"
#include "tilecast/version.h"

namespace tilecast {
namespace {

// Text as roff reads it: no line of ours may look like a request, and hyphens stay what people type.
std::string escaped(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  return out;
}

std::string sentence_of(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

std::string page_name(const CommandNode& node) {
  std::string name = node.path.empty() ? "tilecast" : "tilecast-" + node.path;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string command_words(const CommandNode& node) { return node.path.empty() ? "tilecast" : "tilecast " + node.path; }

std::string synopsis(const CommandNode& node) {
  std::string text = ".B " + escaped(command_words(node)) + "\n";
  if (!node.commands.empty()) text += ".I COMMAND\n";
  for (const CommandOption& option : node.options)
    if (option.positional)
      text += (option.required ? ".I " : ".RI [ ") + escaped(option.names.front()) + (option.required ? "\n" : " ]\n");
  return text + ".RI [ OPTION ...]\n";
}

std::string option_text(const CommandOption& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back("\\fB" + escaped(name) + "\\fR");
  // Long lists may be broken behind a bar.
  std::string value = option.value;
  if (!option.choices.empty()) value = join(option.choices, "|");
  value = escaped(value);
  for (auto bar = value.find('|'); bar != std::string::npos; bar = value.find('|', bar + 1))
    value.insert(bar + 1, "\\:");
  if (!value.empty() && !option.positional) value = " \\fI" + value + "\\fR";
  else value.clear();
  return ".TP\n" + join(names, ", ") + value + "\n" +
         escaped(option.help.empty() ? option.names.front() : option.help) + "\n";
}

std::string options_text(const CommandNode& node) {
  std::string text;
  std::vector<std::string> groups;
  for (const CommandOption& option : node.options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  for (const std::string& group : groups) {
    text += group.empty() ? ".SH OPTIONS\n" : (text.empty() ? ".SH OPTIONS\n.SS " : ".SS ") + escaped(group) + "\n";
    for (const CommandOption& option : node.options)
      if (option.group == group) text += option_text(option);
  }
  return text;
}

// The lines of a command's examples, which help shows as they are.
std::string footer_text(const CommandNode& node) {
  if (node.footer.empty()) return "";
  return ".SH NOTES AND EXAMPLES\n.nf\n" + escaped(node.footer) + "\n.fi\n";
}

// Families of kernels have no pages of their own: their dimensions stand in the one of `kernel`.
bool has_page(const CommandNode& node) { return !node.path.starts_with("kernel "); }

std::string commands_text(const CommandNode& node) {
  std::string text;
  for (const CommandNode& command : node.commands) {
    if (has_page(command)) {
      text += ".TP\n.BR " + escaped(page_name(command)) + " (1)\n" + escaped(sentence_of(command.summary)) + "\n";
      continue;
    }
    text += ".SS " + escaped(command.name) + "\n" + escaped(sentence_of(command.summary)) + "\n";
    for (const CommandOption& option : command.options)
      if (!option_text(option).empty() && option.group != "inherited" && option.names.front() != "--help")
        text += option_text(option);
  }
  return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

std::string page_text(const CommandNode& node, const std::string& date) {
  std::string title = page_name(node);
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::string see = node.path.empty() ? "Documents in /usr/share/doc/tilecast." : ".BR tilecast (1)";
  return ".TH \"" + escaped(title) + "\" 1 \"" + date + "\" \"tilecast " + std::string(version()) +
         "\" \"User Commands\"\n.ad l\n" + ".SH NAME\n" + escaped(page_name(node)) + " \\- " + escaped(node.summary) +
         "\n.SH SYNOPSIS\n" + synopsis(node) + ".SH DESCRIPTION\n" + escaped(sentence_of(node.summary)) + "\n" +
         commands_text(node) + options_text(node) + footer_text(node) + ".SH SEE ALSO\n" + see + "\n";
}

void add_pages(std::vector<ManPage>& pages, const CommandNode& node, const std::string& date) {
  pages.push_back({page_name(node) + ".1", page_text(node, date)});
  for (const CommandNode& command : node.commands)
    if (has_page(command)) add_pages(pages, command, date);
}

}  // namespace

std::vector<ManPage> man_pages(const CommandNode& program, const std::string& date) {
  std::vector<ManPage> pages;
  add_pages(pages, program, date);
  return pages;
}

}  // namespace tilecast
