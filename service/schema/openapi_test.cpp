// The document by the rules of OpenAPI 3.1.1 (spec.openapis.org/oas/v3.1.1, sections 4.8.x as named below), and every
// example in it asked.
#include "service/schema/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "answers/served.h"
#include "service/schema/argument_schema.h"
#include "service/schema/example_query.h"
#include "service/schema/schema_testing.h"
#include "support/base64.h"
#include "support/file.h"
#include "support/gzip_reader.h"
#include "test_paths.h"

namespace tilecast {
namespace {

const SchemaValue& document() {
  static const SchemaValue all = SchemaValue::parse(openapi_json());
  return all;
}

// Calls with every object in the document and its place.
void each_object(const SchemaValue& value, const std::string& at,
                 const std::function<void(const SchemaValue&, const std::string&)>& take) {
  if (value.is_object()) take(value, at);
  if (value.is_structured()) {
    for (const auto& [name, part] : value.items()) each_object(part, at + "/" + name, take);
  }
}

std::vector<std::pair<std::string, SchemaValue>> operations() {
  std::vector<std::pair<std::string, SchemaValue>> all;
  for (const auto& [path, item] : document()["paths"].items())
    for (const char* method : {"get", "post", "delete"})
      if (item.contains(method)) all.emplace_back(path, item[method]);
  return all;
}

// 4.8.1, 4.8.2: what every document has.
TEST(OpenApi, TheDocumentItself) {
  EXPECT_TRUE(std::regex_match(document()["openapi"].get<std::string>(), std::regex("3\\.1\\.[0-9]+")));
  EXPECT_TRUE(document()["info"]["title"].is_string());
  EXPECT_TRUE(document()["info"]["version"].is_string());
  const std::set<std::string> known = {"openapi",  "info",       "jsonSchemaDialect", "servers", "paths",
                                       "webhooks", "components", "security",          "tags",    "externalDocs"};
  for (const auto& [name, part] : document().items()) EXPECT_TRUE(known.contains(name)) << name;
  for (const auto& [name, part] : document()["components"].items())
    for (const auto& [key, one] : part.items())
      EXPECT_TRUE(std::regex_match(key, std::regex("[a-zA-Z0-9._-]+"))) << key;
}

// 4.8.8, 4.8.9: paths begin with a slash, members of a path item are known.
TEST(OpenApi, Paths) {
  const std::set<std::string> known = {"summary", "description", "get",   "put",   "post",    "delete",
                                       "options", "head",        "patch", "trace", "servers", "parameters"};
  for (const auto& [path, item] : document()["paths"].items()) {
    EXPECT_TRUE(path.starts_with("/")) << path;
    for (const auto& [name, part] : item.items()) EXPECT_TRUE(known.contains(name)) << path << " " << name;
  }
  for (const char* path :
       {"/v1/gpus",       "/v1/gpus/{name}", "/v1/models",           "/v1/models/{name}",  "/v1/questions",
        "/v1/kernel",     "/v1/predict",     "/v1/memory",           "/v1/collective",     "/v1/simulate",
        "/v1/plan/serve", "/v1/plan/train",  "/v1/tune/gemm",        "/v1/tune/fused-moe", "/v1/diagnose",
        "/v1/retime",     "/v1/jobs/{id}",   "/v1/jobs/{id}/events", "/healthz",           "/metrics",
        "/openapi.json"})
    EXPECT_TRUE(document()["paths"].contains(path)) << path;
}

// 4.8.10, 4.8.12, 4.8.13, 4.8.16, 4.8.17: operations with names of their own, parameters that their paths have,
// responses with descriptions.
TEST(OpenApi, Operations) {
  std::set<std::string> names;
  for (const auto& [path, operation] : operations()) {
    EXPECT_TRUE(names.insert(operation["operationId"].get<std::string>()).second) << path;
    SchemaValue parameters = document()["paths"][path].value("parameters", SchemaValue::array());
    for (const auto& one : operation.value("parameters", SchemaValue::array())) parameters.push_back(one);
    std::set<std::string> in_path;
    for (const auto& one : parameters) {
      EXPECT_TRUE(one["name"].is_string() && one.contains("schema"));
      if (one["in"] == "path") {
        EXPECT_EQ(one["required"], true);
        EXPECT_NE(path.find("{" + one["name"].get<std::string>() + "}"), std::string::npos);
        in_path.insert(one["name"]);
      }
    }
    EXPECT_EQ(in_path.size(), static_cast<std::size_t>(std::count(path.begin(), path.end(), '{'))) << path;
    EXPECT_FALSE(operation["responses"].empty()) << path;
    for (const auto& [code, response] : operation["responses"].items()) {
      EXPECT_TRUE(std::regex_match(code, std::regex("[1-5]([0-9][0-9]|XX)|default"))) << code;
      EXPECT_TRUE(response.contains("description") || response.contains("$ref")) << path << code;
    }
    if (operation.contains("requestBody")) {
      EXPECT_TRUE(operation["requestBody"]["content"].is_object()) << path;
    }
  }
}

// 4.8.23: references lead somewhere; 4.8.30: security names a scheme.
TEST(OpenApi, References) {
  int found = 0;
  each_object(document(), "", [&](const SchemaValue& object, const std::string& at) {
    if (!object.contains("$ref") || !object["$ref"].is_string()) return;
    ++found;
    const std::string ref = object["$ref"];
    ASSERT_TRUE(ref.starts_with("#/")) << at;
    EXPECT_TRUE(document().contains(SchemaValue::json_pointer(ref.substr(1)))) << ref << " at " << at;
  });
  EXPECT_GT(found, 100);
  for (const auto& one : document()["security"])
    for (const auto& [name, scopes] : one.items())
      EXPECT_TRUE(document()["components"]["securitySchemes"].contains(name));
}

// 4.8.24: schemas are of JSON Schema 2020-12: types that there are, and lists where lists belong.
TEST(OpenApi, Schemas) {
  const std::set<std::string> types = {"string", "number", "integer", "boolean", "array", "object", "null"};
  const auto is_schema_place = [](const std::string& at) { return at.starts_with("/components/schemas/"); };
  each_object(document(), "", [&](const SchemaValue& object, const std::string& at) {
    if (!is_schema_place(at) || at.ends_with("/properties")) return;
    if (object.contains("type")) {
      const SchemaValue list = object["type"].is_array() ? object["type"] : SchemaValue::array({object["type"]});
      for (const auto& type : list)
        EXPECT_TRUE(type.is_string() && types.contains(type.get<std::string>())) << at << " " << type;
    }
    if (object.contains("enum")) {
      EXPECT_FALSE(object["enum"].empty()) << at;
    }
    if (object.contains("required")) {
      EXPECT_TRUE(object["required"].is_array()) << at;
    }
  });
  const SchemaCheck check(document());
  for (const auto& [name, schema] : document()["components"]["schemas"].items()) {
    if (!schema.contains("properties")) continue;
    for (const auto& [member, one] : schema["properties"].items())
      for (const auto& example : one.value("examples", SchemaValue::array()))
        EXPECT_EQ(check.mismatch(one, example, name + "." + member), "");
  }
}

TEST(OpenApi, EveryArgumentIsThere) {
  for (const QuestionForm& form : question_forms()) {
    if (form.arguments.empty()) continue;
    const SchemaValue schema = SchemaValue::parse(question_schema(form, {kInComponents}).dump());
    for (const Argument& about : form.arguments) {
      std::string name = about.name;
      std::replace(name.begin(), name.end(), '-', '_');
      const bool written = naming_of(form.name, about.name) == Naming::output;
      EXPECT_EQ(schema["properties"].contains(name), !written) << form.name << " " << name;
    }
  }
}

// Plans search for seconds; one of each is enough here, and `make check-openapi` asks all.
bool is_long(const std::string& path, int number) {
  return number > 1 && (path.starts_with("/v1/plan") || path == "/v1/simulate") &&
         !std::getenv("TILECAST_ALL_EXAMPLES");
}

TEST(OpenApi, EveryExampleIsAnsweredAsPromised) {
  const SchemaCheck check(document());
  int asked = 0;
  for (const auto& [path, operation] : operations()) {
    if (!operation.contains("requestBody")) continue;
    const SchemaValue content = operation["requestBody"]["content"]["application/json"];
    std::string question = path.substr(4);
    std::replace(question.begin(), question.end(), '/', ' ');
    int number = 0;
    const SchemaValue examples = content.value("examples", SchemaValue::object());
    for (const auto& [name, example] : examples.items()) {
      const SchemaValue& query = example["value"];
      EXPECT_EQ(check.mismatch(content["schema"], query, path), "") << query;
      if (is_long(path, ++number)) continue;
      const auto answer = ask_served(question, query);
      ASSERT_TRUE(answer.ok()) << question << " " << query << ": " << answer.error().line();
      const SchemaValue& promised = operation["responses"]["200"]["content"]["application/json"]["schema"];
      EXPECT_EQ(check.mismatch(promised, SchemaValue::parse(*answer), path), "") << query;
      ++asked;
    }
    if (question != "calibrate") {
      EXPECT_GT(number, 0) << path << " has no example";
    }
  }
  EXPECT_GT(asked, 20);
}

// Its examples name files of this machine, so it has none to replay: some measured rows, by value, with a file wanted
// and without.
TEST(OpenApi, TheAnswerOfACalibrationIsAsPromised) {
  auto lines = LineReader::open(TILECAST_SOURCE_DIR "/data/measurements/h200_quick.csv.gz");
  ASSERT_TRUE(lines.ok());
  std::string rows;
  for (int i = 0; i < 60; ++i) rows += std::string(**lines->next()) + "\n";
  const SchemaCheck check(document());
  const SchemaValue& schemas = document()["components"]["schemas"];
  for (const bool files : {false, true}) {
    const SchemaValue query = {
        {"gpu", "H200-SXM"}, {"data", {{"name", "rows.csv"}, {"base64", base64_text(rows)}}}, {"files", files}};
    EXPECT_EQ(check.mismatch(schemas["CalibrateQuery"], query, "query"), "");
    const auto answer = ask_served("calibrate", query);
    ASSERT_TRUE(answer.ok()) << answer.error().line();
    const SchemaValue told = SchemaValue::parse(*answer);
    EXPECT_EQ(check.mismatch(schemas["CalibrateAnswer"], told, "answer"), "");
    EXPECT_EQ(told.contains("files"), files);
    SchemaValue wrong = told;
    wrong["families"][0]["rows"] = "many";
    EXPECT_NE(check.mismatch(schemas["CalibrateAnswer"], wrong, "answer"), "") << "the schema says what rows are";
  }
}

// For validators of others (`make check-openapi`).
TEST(OpenApi, WrittenWhereAskedFor) {
  if (const char* path = std::getenv("TILECAST_OPENAPI_FILE")) {
    EXPECT_TRUE(write_text_file(path, openapi_json()).ok());
  }
}

TEST(OpenApi, WhatIsWrongDoesNotFit) {
  const SchemaCheck check(document());
  const auto wrong = [&](const char* name, const char* query) {
    return check.mismatch(document()["components"]["schemas"][name], SchemaValue::parse(query));
  };
  EXPECT_EQ(wrong("KernelQuery", R"({"family": "gemm", "m": 8, "n": 8, "k": 8, "gpu": ["H100-SXM", "B200"]})"), "");
  EXPECT_THAT(wrong("KernelQuery", R"({"family": "gemm", "m": 8, "n": 8, "gpu": "H100-SXM"})"),
              testing::HasSubstr("lacks k"));
  EXPECT_THAT(wrong("KernelQuery", R"({"family": "gem", "gpu": "H100-SXM"})"), testing::HasSubstr("is none of"));
  EXPECT_THAT(wrong("PredictQuery", R"({"model": "Llama-3.1-8B", "batch": true})"), testing::HasSubstr("/batch"));
  EXPECT_THAT(wrong("PredictQuery", R"({"model": "Llama-3.1-8B", "batsch": 1})"), testing::HasSubstr("/batsch"));
  EXPECT_THAT(wrong("PredictQuery", R"({"model": "Llama-3.1-8B", "batch": 0})"), testing::HasSubstr("below"));
  EXPECT_EQ(wrong("PredictQuery", R"({"model": "Llama-3.1-8B", "batch": [1, 8], "seq": "128..512"})"), "");
  EXPECT_THAT(wrong("PredictQuery", R"({"model": "Llama-3.1-8B", "batch": [1, 0]})"), testing::HasSubstr("below"));
  EXPECT_THAT(wrong("DiagnoseQuery", R"({"trace": "/etc/passwd"})"), testing::HasSubstr("/trace"));
  EXPECT_EQ(wrong("DiagnoseQuery", R"({"trace": {"name": "a.json", "base64": "e30="}})"), "");
}

TEST(ExampleQuery, WordsBecomeTypedValues) {
  const auto query = [](const char* name, const char* command) {
    return query_of_command(*question_form(name), command).value_or(Json()).dump();
  };
  EXPECT_EQ(query("kernel", "kernel gemm --m 4096 --n 8 --k 1k --gpu A,B --explain"),
            R"({"family":"gemm","m":4096,"n":8,"k":"1k","gpu":["A","B"]})");
  EXPECT_EQ(query("predict", "predict X --all-logits --batch 8 --requests 1x2,3x4 --trace out.json"),
            R"({"model":"X","all_logits":true,"batch":8,"requests":"1x2,3x4"})");
  EXPECT_EQ(query("gpu", "gpu show H100-SXM --constants"), R"({"name":"H100-SXM","constants":true})");
  EXPECT_EQ(query("simulate", "simulate X --rate 0.5 --trace requests.csv"), "null");
  EXPECT_EQ(query("retime", "retime t.json --gpu B200"), "null");
}

}  // namespace
}  // namespace tilecast
