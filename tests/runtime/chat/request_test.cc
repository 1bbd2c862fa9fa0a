#include "tessera/runtime/chat/request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

const std::string kLlama = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/llama.gguf";

TEST(Request, HeaderExample) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  Answerer answerer = Must(Answerer::Create(*engine, {.sampling = {.temperature = 0}}));
  const auto run = [&]() -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(const Request request, Request::Parse(R"({"id": "a", "text": "Hello", "n": 20})", "standard input, line 3"));
    ASSIGN_OR_RETURN(const TextRequest asked, ReadTextRequest(request, *engine, {}));
    ASSIGN_OR_RETURN(const Generation result, answerer.Run(asked.prompt, {.max_tokens = asked.max_tokens.value_or(512)}));
    EXPECT_EQ(result.tokens.size(), 20u);
    return TextAnswer(request, asked.prompt, result);
  };
  const JsonValue answer = Must(JsonValue::Parse(Must(run())));
  EXPECT_EQ(*answer.String("id"), "a");
  EXPECT_EQ(answer.Ints("output_tokens")->size(), 20u);
  EXPECT_TRUE(answer.Has("prompt_tokens"));
  EXPECT_TRUE(answer.Has("output_text"));
}

TEST(Request, ABadLineIsRefusedWithItsSource) {
  for (const char* line : {"", "{", "[]", "{}", "{\"id\": 1.5}", "{\"id\": null}", "{\"id\": [1]}", "{\"id\": 1} x", "\xff"}) {
    const absl::StatusOr<Request> request = Request::Parse(line, "line 7");
    ASSERT_FALSE(request.ok()) << line;
    EXPECT_EQ(request.status().message().substr(0, 6), "line 7") << request.status();
  }
}

TEST(Request, AnIdComesBackAsItWas) {
  for (const std::string id : {"\"a\"", "0", "-5", "18446744073709551615"}) {
    JsonWriter answer = BeginAnswer(Must(Request::Parse("{\"id\": " + id + "}", "line 1")));
    answer.EndObject();
    EXPECT_EQ(std::move(answer).Take(), "{\"id\":" + id + "}");
  }
}

TEST(Request, AnErrorNamesItsSourceOnce) {
  const Request request = Must(Request::Parse("{\"id\": 1}", "line 2"));
  EXPECT_EQ(request.At(absl::InternalError("broken")).message(), "line 2: broken");
  EXPECT_EQ(request.At(absl::InternalError("line 2: broken")).message(), "line 2: broken");
  EXPECT_TRUE(request.At(absl::OkStatus()).ok());
}

TEST(Request, PromptsAreTokensOrTextAndNothingElse) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const auto read = [&](const std::string& members) {
    return ReadTextRequest(Must(Request::Parse("{\"id\": 1" + members + "}", "line 1")), *engine, {});
  };
  EXPECT_EQ(Must(read(", \"tokens\": [70, 71]")).prompt, (std::vector<TokenId>{70, 71}));
  EXPECT_FALSE(Must(read(", \"tokens\": [70, 71]")).max_tokens.has_value());
  for (const char* bad : {"", ", \"text\": \"a\", \"tokens\": [70]", ", \"tokens\": []", ", \"tokens\": [271]", ", \"tokens\": [-1]",
                          ", \"text\": 5", ", \"text\": \"a\", \"n\": -1", ", \"text\": \"a\", \"n\": 1.5"}) {
    EXPECT_FALSE(read(bad).ok()) << bad;
  }
  for (const char* bad : {", \"messages\": []", ", \"messages\": [{\"role\": \"user\", \"content\": \"a\"}]",
                          ", \"text\": \"a\", \"tools\": []", ", \"text\": \"a\", \"template_args\": {}"}) {
    EXPECT_FALSE(read(bad).ok()) << bad;  // The second: this model has no template.
  }
  EXPECT_TRUE(absl::IsResourceExhausted(read(", \"text\": \"" + std::string(1 << 20, 'a') + "\"").status()));
}

TEST(Request, AFieldThatIsNotReadIsAnErrorThatNamesIt) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const auto error = [&](const std::string& members) {
    const auto read = ReadTextRequest(Must(Request::Parse("{\"id\": 1, " + members + "}", "line 1")), *engine, {});
    return read.ok() ? std::string("none") : std::string(read.status().message());
  };
  EXPECT_EQ(error(R"("text": "a", "max_tokens": 3, "temperature": 2, "stop": ["b"])"),
            "line 1: max_tokens: found a field that is not read, expected one of id, text, special, tokens, messages, tools, "
            "template_args, n");
  EXPECT_EQ(error(R"("text": "a", "n": 1, "special": true)"), "none");
  EXPECT_TRUE(absl::StrContains(error(R"("tokens": [70], "special": true)"), "special without text"));
  EXPECT_TRUE(absl::StrContains(error(R"("tokens": [70], "N": 1)"), "line 1: N: found a field"));
  EXPECT_FALSE(PromptTokens(Must(JsonValue::Parse(R"({"text": "a", "n": 1})")), *engine, {}).ok()) << "only where texts are written";
  EXPECT_TRUE(CheckFields(Must(JsonValue::Parse(R"({"id": 1, "text": "a"})")), {"id", "text"}).ok());
  for (const ConversationOptions& options : {ConversationOptions{.system = "a"}, ConversationOptions{.raw = true}}) {
    const Request request = Must(Request::Parse(R"({"id": 1, "messages": [{"role": "user", "content": "a"}]})", "line 1"));
    EXPECT_TRUE(IsWrongUsage(ReadTextRequest(request, *engine, options).status()));
  }
}

// A text that begins with BOS, said to be special, gets no second one.
TEST(Request, BosComesOnce) {
  std::ifstream whole(kLlama, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(whole), {}};
  const std::string key = "tokenizer.ggml.add_bos_token";
  bytes[bytes.find(key) + key.size() + sizeof(uint32_t)] = 1;  // Behind the type.
  const TemporaryFolder folder;
  const std::string path = folder.Path("bos.gguf");
  std::ofstream(path, std::ios::binary) << bytes;
  const auto engine = Must(Engine::Load({.model_path = path, .compute = {.threads = 1}}));
  ASSERT_TRUE(engine->tokenizer().adds_bos() && engine->tokenizer().bos().has_value());
  const TokenId bos = *engine->tokenizer().bos();
  const std::string text = engine->tokenizer().Piece(bos, /*render_special=*/true) + "the";
  JsonWriter line;
  line.BeginObject().Key("id").Int(1).Key("special").Bool(true).Key("text").String(text).EndObject();
  const auto read = ReadTextRequest(Must(Request::Parse(std::move(line).Take(), "line 1")), *engine, {});
  const std::vector<TokenId> prompt = Must(read).prompt;
  EXPECT_EQ(prompt[0], bos);
  EXPECT_EQ(std::count(prompt.begin(), prompt.end(), bos), 1);
  Conversation raw = Must(Conversation::Create(engine->model().gguf(), {.raw = true}));
  raw.AddUser(text);
  EXPECT_EQ(Must(raw.Tokens(engine->tokenizer())), prompt);
}

TEST(Request, MessagesAreWrittenInTheFormThatIsNamed) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const auto read = [&](const std::string& members) {
    return ReadTextRequest(Must(Request::Parse("{\"id\": 1, " + members + "}", "line 1")), *engine, {.chat_template = "none"});
  };
  EXPECT_EQ(Must(read("\"messages\": [{\"role\": \"user\", \"content\": \"the in\"}]")).prompt,
            engine->tokenizer().Encode("the in", {.add_bos = true}));
  const absl::Status tools = read("\"messages\": [{\"role\": \"user\", \"content\": \"a\"}], \"tools\": [{}]").status();
  EXPECT_EQ(tools.message(), "tools: found some, expected none: the form none has no place for it");
  const absl::Status role = read("\"messages\": [{\"role\": \"user\"}, {\"content\": \"a\"}]").status();
  EXPECT_TRUE(absl::StrContains(role.message(), "messages[1].role")) << role;
}

}  // namespace
}  // namespace tessera
