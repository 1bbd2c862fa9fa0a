#include "tessera/runtime/chat/request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
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
    TimedAnswer answer;
    ASSIGN_OR_RETURN(answer.text, answerer.Run(asked.prompt, {.max_tokens = asked.max_tokens.value_or(512)}));
    EXPECT_EQ(answer.text.tokens.size(), 20u);
    EXPECT_EQ(ErrorAnswer(request, absl::InternalError("broken")), R"({"id":"a","error":"broken"})");
    return TextAnswer(request, asked.prompt, answer);
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

TEST(Request, AnIdComesBackUnchanged) {
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

TEST(Request, AnUnreadFieldIsAnErrorThatNamesTheField) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const auto error = [&](const std::string& members) {
    const auto read = ReadTextRequest(Must(Request::Parse("{\"id\": 1, " + members + "}", "line 1")), *engine, {});
    return read.ok() ? std::string("none") : std::string(read.status().message());
  };
  EXPECT_EQ(error(R"("text": "a", "max_tokens": 3, "temperature": 2, "stop": ["b"])"),
            "line 1: max_tokens: found a field that is not read, expected one of id, text, special, tokens, messages, tools, "
            "template_args, continue_final_message, n, n_predict, stop, seed, temperature, top_k, top_p, min_p, repetition_penalty, "
            "penalty_window, adapter, answers, distinct_first_tokens, best_of; did you mean n_predict?");
  EXPECT_TRUE(absl::EndsWith(error(R"("text": "a", "tempature": 2)"), "best_of; did you mean temperature?"));
  EXPECT_TRUE(absl::EndsWith(error(R"("text": "a", "logprobs": 5)"), "answer: tessera_logits shows them for a given text"));
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

TEST(Request, SaysHowItsTextIsWritten) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const SamplingOptions otherwise = {.temperature = 0.5f, .top_k = 7, .penalty_window = 9, .seed = 11};
  const auto read = [&](const std::string& members) {
    return ReadTextRequest(Must(Request::Parse(R"({"id": 1, "text": "a")" + members + "}", "line 1")), *engine, {}, otherwise);
  };
  const TextRequest nothing = Must(read(""));
  EXPECT_EQ(nothing.sampling.temperature, 0.5f);
  EXPECT_EQ(nothing.sampling.top_k, 7);
  EXPECT_EQ(nothing.sampling.penalty_window, 9);
  EXPECT_EQ(nothing.sampling.seed, 11u);
  EXPECT_FALSE(nothing.max_tokens.has_value() || nothing.stop.has_value() || nothing.answers.has_value());
  const TextRequest nulls = Must(read(R"(, "n": null, "n_predict": null, "stop": null, "seed": null, "top_k": null, "adapter": null,
                                         "answers": null, "temperature": null, "distinct_first_tokens": null)"));
  EXPECT_EQ(nulls.sampling.temperature, 0.5f);
  EXPECT_FALSE(nulls.max_tokens.has_value() || nulls.stop.has_value() || nulls.answers.has_value());
  EXPECT_EQ(nulls.adapter, AdapterParts()) << "none, and not the one that other requests have";
  EXPECT_FALSE(nothing.adapter.has_value());
  const TextRequest all = Must(read(R"(, "n_predict": 3, "stop": "b", "seed": 18446744073709551615, "temperature": 1.5, "top_k": 1000,
      "top_p": 0.5, "min_p": 0, "repetition_penalty": 1.25, "penalty_window": 2, "answers": 4)"));
  EXPECT_EQ(all.max_tokens, 3);
  EXPECT_EQ(all.stop, std::vector<std::string>{"b"});
  EXPECT_EQ(all.answers, 4);
  EXPECT_FALSE(all.distinct_first_tokens || nulls.distinct_first_tokens);
  const TextRequest distinct = Must(read(R"(, "answers": 2, "temperature": 0, "distinct_first_tokens": true)"));
  EXPECT_TRUE(distinct.distinct_first_tokens) << "greedy answers, too, differ by how they begin";
  EXPECT_EQ(all.sampling.seed, 18446744073709551615u);
  EXPECT_EQ(all.sampling.temperature, 1.5f);
  EXPECT_EQ(all.sampling.top_k, 1000);
  EXPECT_EQ(all.sampling.top_p, 0.5f);
  EXPECT_EQ(all.sampling.min_p, 0);
  EXPECT_EQ(all.sampling.repetition_penalty, 1.25f);
  EXPECT_EQ(all.sampling.penalty_window, 2);
  EXPECT_EQ(Must(read(R"(, "stop": ["b", "c"])")).stop, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(Must(read(R"(, "stop": [])")).stop, std::vector<std::string>());
}

TEST(Request, AWrongFieldIsAnErrorWithTheExpectedValue) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const std::pair<const char*, const char*> cases[] = {
      {R"("n": 1, "n_predict": 1)", "both n and n_predict, expected one of them"},
      {R"("n_predict": -1)", "n_predict: found -1"},
      {R"("stop": 5)", "stop: found an integer, expected a string or a list of strings"},
      {R"("stop": ["a", 5])", "stop[1]: found 5"},
      {R"("seed": -1)", "seed: found -1"},
      {R"("seed": "random")", "seed: found"},
      {R"("temperature": -1)", "temperature: found -1, expected 0 <= temperature"},
      {R"("temperature": 1e300)", "temperature: found inf"},
      {R"("temperature": "hot")", "temperature: found"},
      {R"("top_k": 1.5)", "top_k: found 1.5"},
      {R"("top_k": -1)", "top_k: found -1"},
      {R"("top_p": 0)", "top_p: found 0"},
      {R"("min_p": 2)", "min_p: found 2"},
      {R"("repetition_penalty": 0)", "repetition_penalty: found 0"},
      {R"("penalty_window": 4294967296)", "penalty_window: found 4294967296"},
      {R"("adapter": "sums")", "adapter: found \"sums\", expected none: no adapter is loaded"},
      {R"("adapter": 3)", "adapter: found an integer, expected a name, a list of names, or null for none"},
      {R"("answers": 0)", "answers: found 0"},
      {R"("answers": 65)", "answers: found 65"},
      {R"("answers": 2, "temperature": 0)", "answers: found 2 with temperature 0, expected 1"},
      {R"("answers": 2, "top_k": 1)", "answers: found 2 with top_k 1, expected 1"},
      {R"("answers": 2, "top_k": 1, "distinct_first_tokens": false)", "answers: found 2 with top_k 1, expected 1"},
      {R"("distinct_first_tokens": true)", "found distinct_first_tokens without several answers, expected answers, 2 or more"},
      {R"("answers": 1, "distinct_first_tokens": true)", "found distinct_first_tokens without several answers"},
      {R"("answers": 2, "distinct_first_tokens": 1)", "distinct_first_tokens: found 1, expected true or false"},
  };
  for (const auto& [members, expected] : cases) {
    const Request request = Must(Request::Parse(absl::StrCat(R"({"id": 1, "text": "a", )", members, "}"), "line 1"));
    const absl::Status status = request.At(ReadTextRequest(request, *engine, {}).status());
    EXPECT_EQ(status.message().substr(0, 8), "line 1: ") << members;
    EXPECT_TRUE(absl::StrContains(status.message(), expected)) << members << ": " << status;
  }
}

TEST(Request, NamesAnAdapterAmongTheLoaded) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const std::vector<std::string> names = {"pirate", "plain"};
  const auto read = [&](const std::string& members) {
    return ReadTextRequest(Must(Request::Parse(R"({"id": 1, "text": "a")" + members + "}", "line 1")), *engine, {}, {},
                           {.listed = names});
  };
  EXPECT_EQ(Must(read(R"(, "adapter": "plain")")).adapter, (AdapterParts{{"plain", 1}}));
  EXPECT_EQ(Must(read(R"(, "adapter": ["plain@0.5", "pirate"])")).adapter, (AdapterParts{{"plain", 0.5f}, {"pirate", 1}}));
  EXPECT_EQ(Must(read(R"(, "adapter": "")")).adapter, AdapterParts());
  EXPECT_EQ(Must(read(R"(, "adapter": null)")).adapter, AdapterParts());
  EXPECT_FALSE(Must(read("")).adapter.has_value());
  EXPECT_EQ(read(R"(, "adapter": "Plain")").status().message(),
            "line 1: adapter: found \"Plain\", expected one of pirate, plain, or null for none; did you mean \"plain\"?");
}

TEST(Request, AnswersReportTheirCountsAndTimes) {
  const Request request = Must(Request::Parse(R"({"id": "a"})", "line 1"));
  TimedAnswer answer = {.text = {.tokens = {5, 6}, .text = "x", .reason = FinishReason::kStopString}};
  constexpr char kUnknown[] = R"("output_tokens":[5,6],"output_text":"x","finish":"stop string",)"
                              R"("counts":{"prompt":3,"shared_prompt":null,"output":2},"seconds":{"first_token":null,"total":0})";
  EXPECT_EQ(TextAnswer(request, {1, 2, 3}, answer), absl::StrCat(R"({"id":"a","prompt_tokens":[1,2,3],)", kUnknown, "}"));
  EXPECT_EQ(TextAnswers(request, {1, 2, 3}, {answer, answer}),
            absl::StrCat(R"({"id":"a","prompt_tokens":[1,2,3],"answers":[{)", kUnknown, "},{", kUnknown, "}]}"));
  answer.shared_tokens = 2;
  answer.first_token_seconds = 0.25;
  answer.seconds = 1.5;
  const JsonValue known = Must(JsonValue::Parse(TextAnswer(request, {1, 2, 3}, answer)));
  EXPECT_EQ(*known.Object("counts")->Int("shared_prompt"), 2);
  EXPECT_EQ(*known.Object("seconds")->Double("first_token"), 0.25);
  EXPECT_EQ(*known.Object("seconds")->Double("total"), 1.5);
  answer.first = FirstToken{.token = 5, .probability = 0.25, .text = "a"};
  const JsonValue begun = Must(JsonValue::Parse(TextAnswers(request, {1, 2, 3}, {answer})));
  const JsonValue first = Must((*begun.Array("answers"))[0].Object("first_token"));
  EXPECT_EQ(*first.Int("id"), 5);
  EXPECT_EQ(*first.String("text"), "a");
  EXPECT_EQ(*first.Double("probability"), 0.25);
}

TEST(Request, AnErrorIsAnAnswerAndALineWithoutIdHasItsNumber) {
  const Request request = Must(Request::Parse(R"({"id": 7})", "line 1"));
  EXPECT_EQ(ErrorAnswer(request, absl::InternalError("a \"b\"\x01")), R"({"id":7,"error":"a \"b\"\\x01"})");
  EXPECT_EQ(ErrorAnswer(3, absl::InternalError("broken")), R"({"id":null,"line":3,"error":"broken"})");
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

TEST(Request, ALastMessageOfTheAssistantIsContinuedOrRefused) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const auto read = [&](const std::string& last, const std::string& more) {
    const std::string line = R"({"id": 1, "messages": [{"role": "user", "content": "the"}, )" + last + "]" + more + "}";
    return ReadTextRequest(Must(Request::Parse(line, "line 1")), *engine, {.chat_template = "chatml"});
  };
  const std::string answer = R"({"role": "assistant", "content": "in <|im_end|>"})", question = R"({"role": "user", "content": "in"})";
  EXPECT_EQ(read(answer, "").status().message(), "line 1: messages[1]: found a last message of the assistant, expected one to answer, or "
                                                 "continue_final_message: true to go on with it");
  EXPECT_EQ(read(answer, R"(, "continue_final_message": false)").status(), read(answer, "").status());
  EXPECT_EQ(read(question, R"(, "continue_final_message": true)").status().message(),
            "line 1: continue_final_message: found true after a message of role \"user\", expected a last message of the assistant");
  EXPECT_FALSE(read(answer, R"(, "continue_final_message": "true")").ok()) << "a text";
  EXPECT_TRUE(read(question, R"(, "continue_final_message": null)").ok());
  EXPECT_TRUE(absl::StrContains(read(R"({"role": "assistant", "content": "", "tool_calls": [{}]})", "").status().message(),
                                "role and content alone in the form chatml")) << "a call is whole, though not for this form";
  std::string joined;
  for (const TokenId token : Must(read(answer, R"(, "continue_final_message": true)")).prompt) {
    joined += engine->tokenizer().Piece(token, /*render_special=*/true);
  }
  EXPECT_TRUE(absl::EndsWith(joined, "in <|im_end|>")) << joined;
}

}  // namespace
}  // namespace tessera
