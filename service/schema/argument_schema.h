// JSON Schemas (draft 2020-12) of what questions take, made from their declared arguments.
#pragma once

#include <string>

#include "answers/question_forms.h"
#include "support/json_value.h"

namespace tilecast {

// Where shared schemas stand in the document that a schema becomes part of.
inline constexpr const char* kInDefs = "#/$defs/";                     // a schema by itself
inline constexpr const char* kInComponents = "#/components/schemas/";  // OpenAPI

struct SchemaForm {
  std::string refs = kInDefs;  // one of the above
  bool paths = false;          // files may also be paths of this machine
  bool ranges = false;         // numbers may be lists and ranges: set from the question
  bool brief = false;          // for a reader who pays by the word: what a family of kernels takes in one line
};

// An object with the question's arguments.
Json question_schema(const QuestionForm& form, const SchemaForm& as);

// What those refer to, by name: a file by value; descriptions of GPUs, clusters and models.
Json shared_schemas();

// The same as a document of its own: with "$schema" and the "$defs" it refers to.
Json standalone_schema(const QuestionForm& form, const SchemaForm& as = {});

}  // namespace tilecast
