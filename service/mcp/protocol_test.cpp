#include "service/mcp/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answers/served.h"
#include "service/schema/schema_testing.h"

namespace tilecast {
namespace {

using Message = nlohmann::json;

// What a server that has heard these lines replies to the last.
Message reply_to(std::initializer_list<const char*> lines, bool paths = false) {
  McpProtocol protocol(paths);
  McpStep step;
  for (const char* line : lines) step = protocol.take(line);
  const auto* text = std::get_if<std::string>(&step);
  if (!text)
    return std::holds_alternative<std::monostate>(step) ? Message("silence") : Message("a call or a cancellation");
  EXPECT_EQ(text->find('\n'), std::string::npos);
  return Message::parse(*text);
}

const char* const kHello =
    R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})";
const char* const kReady = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
#define MODERN \
  R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})"

// modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle: the server names its version, capabilities and
// itself.
TEST(Mcp, TheHandshake) {
  const Message hello = reply_to({kHello});
  EXPECT_EQ(hello["jsonrpc"], "2.0");
  EXPECT_EQ(hello["id"], 1);
  EXPECT_EQ(hello["result"]["protocolVersion"], "2025-11-25");
  EXPECT_TRUE(hello["result"]["capabilities"]["tools"].is_object());
  EXPECT_EQ(hello["result"]["serverInfo"]["name"], "tilecast");
  EXPECT_TRUE(hello["result"]["instructions"].is_string());
  EXPECT_EQ(reply_to({kHello, kReady}), "silence");
  EXPECT_EQ(reply_to({kHello, kReady, R"({"jsonrpc":"2.0","id":"a","method":"ping"})"}),
            Message::parse(R"({"jsonrpc":"2.0","id":"a","result":{}})"));
  EXPECT_EQ(reply_to({kHello, kHello})["error"]["code"], -32600);
}

TEST(Mcp, VersionsAreNegotiated) {
  const auto offered = [](const char* asked) {
    return reply_to(
        {(std::string(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":)") + asked + "}}")
             .c_str()});
  };
  EXPECT_EQ(offered(R"("2025-06-18")")["result"]["protocolVersion"], "2025-06-18");
  EXPECT_EQ(offered(R"("2024-11-05")")["result"]["protocolVersion"], "2025-11-25");
  EXPECT_EQ(offered(R"("2099-01-01")")["result"]["protocolVersion"], "2025-11-25");
  EXPECT_EQ(offered("5")["error"]["code"], -32602);
}

TEST(Mcp, NothingBeforeTheHandshakeButPing) {
  EXPECT_EQ(reply_to({R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"})["error"]["code"], -32602);
  EXPECT_TRUE(reply_to({R"({"jsonrpc":"2.0","id":1,"method":"ping"})"}).contains("result"));
}

// modelcontextprotocol.io/specification/2026-07-28/basic/versioning: no handshake, every request says its revision.
TEST(Mcp, RequestsThatNameTheirRevision) {
  const Message found = reply_to({R"({"jsonrpc":"2.0","id":1,"method":"server/discover","params":{)" MODERN "}}"});
  EXPECT_EQ(found["result"]["supportedVersions"], Message::parse(R"(["2026-07-28"])"));
  EXPECT_EQ(found["result"]["resultType"], "complete");
  EXPECT_EQ(found["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "tilecast");
  EXPECT_TRUE(found["result"]["ttlMs"].is_number());
  const Message tools = reply_to({R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{)" MODERN "}}"});
  EXPECT_EQ(tools["result"]["cacheScope"], "public");
  const Message other = reply_to(
      {R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}})"});
  EXPECT_EQ(other["error"]["code"], -32022);
  EXPECT_EQ(other["error"]["data"]["requested"], "1900-01-01");
  EXPECT_EQ(
      reply_to(
          {R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})"})
          ["error"]["code"],
      -32602);
  EXPECT_EQ(reply_to({R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{)" MODERN "}}"})["error"]["code"], -32601);
}

TEST(Mcp, ToolsWithSchemas) {
  const Message tools =
      reply_to({kHello, kReady, R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})"})["result"]["tools"];
  std::vector<std::string> names;
  for (const Message& tool : tools) {
    names.push_back(tool["name"]);
    EXPECT_EQ(tool["inputSchema"]["type"], "object") << tool["name"];
    EXPECT_FALSE(tool["description"].get<std::string>().empty());
    const Message properties = tool["inputSchema"].value("properties", Message::object());
    for (const auto& [name, schema] : properties.items())
      for (const Message& example : schema.value("examples", Message::array()))
        EXPECT_EQ(SchemaCheck(tool["inputSchema"]).mismatch(schema, example, name), "");
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"gpus", "models", "kernel", "predict", "memory", "simulate", "plan_serve",
                                            "plan_train", "diagnose", "collective"}));
  EXPECT_EQ(
      reply_to({kHello, R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"x"}})"})["error"]["code"],
      -32602);
}

TEST(Mcp, PathsAreInTheSchemaWhereTheyMayBeRead) {
  const auto trace = [](bool paths) {
    const Message tools =
        reply_to({kHello, R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})"}, paths)["result"]["tools"];
    const Message schema = tools.back()["inputSchema"];
    return SchemaCheck(schema).mismatch(schema["properties"]["trace"], "traces/a.json");
  };
  EXPECT_EQ(trace(true), "");
  EXPECT_NE(trace(false), "");
}

TEST(Mcp, ACallIsTakenApart) {
  McpProtocol protocol(false);
  protocol.take(kHello);
  const McpStep step = protocol.take(
      R"({"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"plan_serve","arguments":{"model":"X"},"_meta":{"progressToken":7}}})");
  const auto* call = std::get_if<McpCall>(&step);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->question, "plan serve");
  EXPECT_EQ(call->arguments, R"({"model":"X"})");
  EXPECT_EQ(call->id, R"("c")");
  EXPECT_EQ(call->progress_token, "7");
  EXPECT_EQ(Message::parse(McpProtocol::progress(*call, 0.5))["params"],
            Message::parse(R"({"progressToken":7,"progress":0.5,"total":1,"message":"plan serve"})"));
  const McpStep cancel =
      protocol.take(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}})");
  ASSERT_TRUE(std::holds_alternative<McpCancel>(cancel));
  EXPECT_EQ(std::get<McpCancel>(cancel).id, R"("c")");
}

// ... /server/tools, error handling: of the protocol, and of a tool.
TEST(Mcp, ErrorsOfTheProtocol) {
  const auto code = [](const char* line) { return reply_to({kHello, line})["error"]["code"]; };
  EXPECT_EQ(code("{"), -32700);
  EXPECT_EQ(code((std::string(300, '[') + std::string(300, ']')).c_str()), -32700);
  EXPECT_EQ(code(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])"), -32600);
  EXPECT_EQ(code(R"({"id":1,"method":"ping"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":null,"method":"ping"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"resources/list"})"), -32601);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]})"), -32602);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}})"), -32602);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tune_gemm"}})"), -32602);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gpus","arguments":[]}})"), -32602);
  EXPECT_EQ(Message::parse(McpProtocol::too_long())["error"]["code"], -32600);
}

TEST(Mcp, WhatNeedsNoReplyGetsNone) {
  for (const char* line :
       {"", "  ", R"({"jsonrpc":"2.0","method":"notifications/whatever"})", R"({"jsonrpc":"2.0","id":5,"result":{}})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{}})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":7})"})
    EXPECT_EQ(reply_to({kHello, line}), "silence") << line;
}

TEST(Mcp, AnswersAreTextAndStructure) {
  const McpCall call{"3", "kernel", "{}", "", false};
  const Message list = Message::parse(McpProtocol::answered(call, std::string("[1,\n 2.5]\n")));
  EXPECT_EQ(
      list,
      Message::parse(
          R"({"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"[1,2.5]"}],"structuredContent":{"answers":[1,2.5]},"isError":false}})"));
  const Message object = Message::parse(McpProtocol::answered(call, std::string(R"({"a": 1})")));
  EXPECT_EQ(object["result"]["structuredContent"], Message::parse(R"({"a": 1})"));
  const Message refused = Message::parse(
      McpProtocol::answered(call, ask_served("kernel", std::string_view(R"({"family": "gemm", "m": 8, "n": 8, "k": 8, "dtype": "bf17", "gpu": "L4"})"))));
  EXPECT_EQ(refused["result"]["isError"], true);
  EXPECT_EQ(refused["result"]["structuredContent"]["error"]["field"], "dtype");
  EXPECT_THAT(refused["result"]["content"][0]["text"].get<std::string>(), testing::HasSubstr("bf17"));
}

}  // namespace
}  // namespace tilecast
