// What every question's arguments must do, whatever they are.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tilecast/arguments.h"

namespace tilecast {

// The texts of a query make the same query; every argument has what faces show of it; names are told apart.
template <class Query>
void expect_round_trip(Query query) {
  Query copy;
  const auto arguments = arguments_of(query), blank = arguments_of(copy);
  std::set<std::string> names;
  for (const BoundArgument& argument : arguments) {
    const Argument& about = argument.about;
    EXPECT_TRUE(names.insert(about.name).second) << about.name << " stands there twice";
    EXPECT_FALSE(about.help.empty()) << about.name;
    EXPECT_EQ(about.example.empty(), about.kind == ArgumentKind::yes_no) << about.name;
    if (argument.get().empty()) continue;  // not said
    const auto set = set_argument(blank, about.name, argument.get());
    EXPECT_TRUE(set.ok()) << set.error().line();
  }
  for (std::size_t i = 0; i < arguments.size(); ++i)
    EXPECT_EQ(blank[i].get(), arguments[i].get()) << arguments[i].about.name;
}

// Every example is taken, and those of counts and numbers lie in their ranges.
template <class Query>
void expect_examples_taken() {
  Query query;
  for (const BoundArgument& argument : arguments_of(query))
    if (!argument.about.example.empty()) {
      const auto set = argument.set(argument.about.example);
      EXPECT_TRUE(set.ok()) << set.error().line();
    }
}

// The line with which an argument refuses a text.
template <class Query>
std::string refusal_of(const char* argument, const std::string& text) {
  Query query;
  const auto set = set_argument(arguments_of(query), argument, text);
  return set ? "taken" : set.error().line();
}

// The line of an error, or that there is none.
template <class T>
std::string line_of(const Result<T>& result) {
  return result ? "fine" : result.error().line();
}

}  // namespace tilecast
