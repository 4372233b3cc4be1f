#include "service/schema/openapi.h"

#include <algorithm>
#include <cctype>

#include "service/schema/answer_schema.h"
#include "service/schema/argument_schema.h"
#include "service/schema/example_query.h"
#include "support/json_value.h"
#include "tilecast/version.h"

namespace tilecast {
namespace {

// "plan serve" to "PlanServe".
std::string type_name_of(const QuestionForm& form) {
  std::string name;
  bool start = true;
  for (const char c : form.name) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (letter) name += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    start = !letter;
  }
  return name;
}

std::string operation_name_of(const QuestionForm& form) {
  std::string name = form.name;
  for (char& c : name)
    if (c == ' ' || c == '-') c = '_';
  return name;
}

Json component(const std::string& name) { return Json{{"$ref", kInComponents + name}}; }
Json json_content(Json schema) { return Json{{"application/json", Json{{"schema", std::move(schema)}}}}; }
Json answered(const char* description, Json schema) {
  return Json{{"description", description}, {"content", json_content(std::move(schema))}};
}
Json response_ref(const char* name) { return Json{{"$ref", std::string("#/components/responses/") + name}}; }

Json path_parameter(const char* name, const char* description, const char* example) {
  return Json{{"name", name},
              {"in", "path"},
              {"required", true},
              {"description", description},
              {"schema", Json{{"type", "string"}}},
              {"example", example}};
}

// The refusals that any path may answer with.
void add_refusals(Json& operation) {
  operation["responses"]["4XX"] = response_ref("Refused");
  operation["responses"]["5XX"] = response_ref("Failed");
}

Json lookup(const char* id, const std::string& summary, Json schema, Json parameters = Json::array()) {
  Json operation{{"operationId", id}, {"summary", summary}, {"tags", Json::array()}};
  operation["tags"].push_back("what is known");
  if (!parameters.empty()) operation["parameters"] = std::move(parameters);
  operation["responses"] = Json{{"200", answered("The answer.", std::move(schema))}};
  add_refusals(operation);
  return Json{{"get", operation}};
}

// Charts of what is asked over a range.
void add_charts(Json& operation, Json& answer) {
  answer["content"]["image/svg+xml"] = Json::object();
  answer["content"]["image/png"] = Json::object();
  operation["parameters"].push_back(Json{{"name", "plot_y"},
                                         {"in", "query"},
                                         {"description", "Of a chart: the column of text/csv to draw."},
                                         {"schema", Json{{"type", "string"}}}});
}

Json question_operation(const QuestionForm& form) {
  Json operation{{"operationId", operation_name_of(form)}, {"summary", form.summary}, {"tags", Json::array()}};
  operation["tags"].push_back("questions");
  Json job{{"name", "job"},
           {"in", "query"},
           {"description", "1: answer at once with a job's name, and work meanwhile."},
           {"schema", Json{{"type", "integer"}, {"enum", Json::array()}}}};
  job["schema"]["enum"].push_back(1);
  operation["parameters"] = Json::array();
  operation["parameters"].push_back(job);
  Json content{{"schema", component(type_name_of(form) + "Query")}};
  int number = 0;
  for (const QueryExample& example : query_examples(form))
    content["examples"]["example" + std::to_string(++number)] =
        Json{{"summary", "tilecast " + example.command}, {"value", example.query}};
  operation["requestBody"] = Json{{"required", true}, {"content", Json{{"application/json", content}}}};
  Json answer =
      answered("What `tilecast ... --json` prints (docs/json.md), or by the Accept field its rows and a chart of them.",
               component(type_name_of(form) + "Answer"));
  answer["content"]["text/csv"] = Json{{"schema", Json{{"type", "string"}}}};
  if (form.sweeps) add_charts(operation, answer);
  operation["responses"] =
      Json{{"200", std::move(answer)}, {"202", answered("The job that works on it.", component("JobName"))}};
  add_refusals(operation);
  return Json{{"post", operation}};
}

void add_lookups(Json& paths) {
  const auto answer = [](const char* question) { return component(type_name_of(*question_form(question)) + "Answer"); };
  const auto one = [](Json parameter) {
    Json list = Json::array();
    list.push_back(std::move(parameter));
    return list;
  };
  paths["/v1/questions"] = lookup("list_questions", "the questions with their declared arguments",
                                  Json{{"type", "array"}, {"items", Json{{"type", "object"}}}});
  paths["/v1/gpus"] = lookup("list_gpus", question_form("gpus")->summary, answer("gpus"));
  paths["/v1/gpus/{name}"] =
      lookup("describe_gpu", "a GPU's whole description, which may be changed and given back as `gpu`",
             component("GpuDescription"), one(path_parameter("name", "The GPU.", "H100-SXM")));
  paths["/v1/models"] = lookup("list_models", "the models that are known by name",
                               Json{{"type", "array"}, {"items", Json{{"type", "object"}}}});
  paths["/v1/models/{name}"] = lookup("describe_model", "one model", Json{{"type", "object"}},
                                      one(path_parameter("name", "The model.", "Llama-3.1-8B")));
  paths["/v1/clusters"] = lookup("list_clusters", question_form("clusters")->summary, answer("clusters"));
}

void add_jobs(Json& paths) {
  Json parameters = Json::array();
  parameters.push_back(path_parameter("id", "What the question's 202 named.", "f3a1c07e5b2d4968"));
  const auto operation = [](const char* id, const char* summary, Json responses) {
    Json one{{"operationId", id}, {"summary", summary}, {"tags", Json::array()}, {"responses", std::move(responses)}};
    one["tags"].push_back("jobs");
    add_refusals(one);
    return one;
  };
  paths["/v1/jobs/{id}"] = Json{
      {"parameters", parameters},
      {"get",
       operation("get_job", "how far a job is, and its answer", Json{{"200", answered("The job.", component("Job"))}})},
      {"delete",
       operation("cancel_job", "cancel a job", Json{{"200", answered("The job as it was left.", component("Job"))}})}};
  const Json events{
      {"description",
       "Events `progress`, and at the end one of `done`, `failed` or `cancelled`; the data of each is a Job."},
      {"content", Json{{"text/event-stream", Json{{"schema", Json{{"type", "string"}}}}}}}};
  paths["/v1/jobs/{id}/events"] =
      Json{{"parameters", parameters},
           {"get", operation("follow_job", "a job's progress as server-sent events", Json{{"200", events}})}};
}

void add_own(Json& paths) {
  const auto plain = [](const char* id, const char* summary, const char* type) {
    Json operation{{"operationId", id}, {"summary", summary}, {"tags", Json::array()}, {"security", Json::array()}};
    operation["tags"].push_back("the service");
    operation["responses"] = Json{{"200", Json{{"description", "Fine."}, {"content", Json{{type, Json::object()}}}}}};
    add_refusals(operation);
    return Json{{"get", operation}};
  };
  paths["/healthz"] = plain("health", "whether the service answers", "*/*");
  paths["/metrics"] = plain("metrics", "counters for Prometheus", "text/plain");
  paths["/openapi.json"] = plain("openapi", "this document", "application/json");
}

Json job_schemas() {
  const Json whole{{"type", "integer"}, {"minimum", 0}};
  const Json text{{"type", "string"}};
  const Json error{
      {"type", "object"},
      {"properties", Json{{"message", Json{{"type", "string"}, {"description", "What is wrong."}}},
                          {"field", Json{{"type", "string"}, {"description", "The argument that is wrong."}}},
                          {"remedy", Json{{"type", "string"}, {"description", "What to do about it."}}}}},
      {"required", Json::array()}};
  Json all = Json::object();
  all["Problem"] = error;
  all["Problem"]["required"].push_back("message");
  all["Error"] =
      Json{{"type", "object"}, {"properties", Json{{"error", component("Problem")}}}, {"required", Json::array()}};
  all["Error"]["required"].push_back("error");
  all["JobName"] = Json{{"type", "object"}, {"properties", Json{{"job", text}}}, {"required", Json::array()}};
  all["JobName"]["required"].push_back("job");
  all["Job"] = Json{
      {"type", "object"},
      {"properties",
       Json{
           {"state", Json{{"type", "string"}, {"enum", Json{"queued", "running", "done", "failed", "cancelled"}}}},
           {"progress", Json{{"type", "object"}, {"properties", Json{{"done", whole}, {"of", whole}, {"what", text}}}}},
           {"answer", Json{{"description", "Of a job that is done: the question's answer."}}},
           {"error", component("Problem")}}},
      {"required", Json::array()}};
  all["Job"]["required"].push_back("state");
  return all;
}

Json components() {
  Json schemas = job_schemas();
  schemas.update(shared_schemas());
  for (const QuestionForm& form : question_forms()) {
    if (!form.arguments.empty()) schemas[type_name_of(form) + "Query"] = question_schema(form, {kInComponents});
    schemas[type_name_of(form) + "Answer"] = answer_schema(form);
  }
  const auto refusal = [](const char* description) {
    return Json{{"description", description}, {"content", json_content(component("Error"))}};
  };
  return Json{{"schemas", schemas},
              {"responses",
               Json{{"Refused", refusal("The request is wrong, too large or not allowed; the error says what to do.")},
                    {"Failed", refusal("The service cannot answer now.")}}},
              {"securitySchemes", Json{{"token", Json{{"type", "http"},
                                                      {"scheme", "bearer"},
                                                      {"description",
                                                       "What --token or --token-file of `tilecast http` says; a "
                                                       "service on this machine alone needs none."}}}}}};
}

}  // namespace

std::string question_path(const QuestionForm& form) {
  std::string path = form.name;
  std::replace(path.begin(), path.end(), ' ', '/');
  return "/v1/" + path;
}

std::string openapi_json() {
  Json document{
      {"openapi", "3.1.1"},
      {"info", Json{{"title", "Tilecast"},
                    {"summary", "How long deep-learning work takes on GPUs."},
                    {"description",
                     "Forecasts of kernels, models, collectives, serving and training. Questions take their "
                     "arguments as a JSON object "
                     "and answer with what the program prints with --json. A number may be a list or a range, [1, 8] "
                     "or \"1,8..64\": the question is asked for every combination, and the answers come as one list."},
                    {"version", version()}}}};
  document["servers"].push_back(Json{{"url", "http://127.0.0.1:8421"}, {"description", "`tilecast http`"}});
  document["security"].push_back(Json::object());
  document["security"].push_back(Json{{"token", Json::array()}});
  Json& paths = document["paths"] = Json::object();
  add_lookups(paths);
  for (const QuestionForm& form : question_forms())
    if (!form.arguments.empty()) paths[question_path(form)].update(question_operation(form));
  add_jobs(paths);
  add_own(paths);
  document["components"] = components();
  return document.dump(2) + "\n";
}

}  // namespace tilecast
