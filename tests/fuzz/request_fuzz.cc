// Requests: a line of JSON, whichever template writes its messages and tools. The line is refused in words that name it and its field, and
// that are an answer in JSON; or its prompt has tokens of the vocabulary that fit, what it says of sampling can be followed, its id comes
// back as it was, and the same line says the same.
//
// An input's first byte says which template the model has; the rest is the line.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/quoted.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/chat/parallel_answers.h"
#include "tessera/runtime/chat/request.h"
#include "tessera/tests/fakes/tiny_engine.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr const char* kForms[] = {"", "chatml", "none"};   // Empty: the model's own.
constexpr char kSource[] = "line 7";
constexpr char kTemplate[] =
    "{% if tools %}<tools>{{ tools|tojson }}</tools>{% endif %}{% for m in messages %}<{{ m.role }}>"
    "{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endif %}"
    "{% for call in m.tool_calls or [] %}<call>{{ call.function.name }}{{ call.function.arguments|tojson }}{% endfor %}"
    "{% if enable_thinking %}<think>{% endif %}</{{ m.role }}>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

const Engine& TheEngine() {
  static const std::unique_ptr<Engine>* const engine = [] {
    const TemporaryFolder folder;
    GgufBuilder builder = TinyModelBuilder({.width = 32, .feed_forward = 32, .heads = 2, .kv_heads = 1, .layers = 1});
    builder.String("tokenizer.chat_template", kTemplate);
    builder.WriteTo(folder.Path("tiny.gguf"));
    return new auto(Must(Engine::Load({.model_path = folder.Path("tiny.gguf"), .compute = {.threads = 1}})));
  }();
  return **engine;
}

const std::vector<std::string>& Adapters() {
  static const auto* const names = new std::vector<std::string>{"pirate", "plain"};
  return *names;
}

// An answer is one line that can be shown, and has the request's id.
void CheckAnswer(const std::string& line, const Request* request) {
  CHECK(!absl::StrContains(line, '\n')) << line;
  const absl::StatusOr<JsonValue> answer = JsonValue::Parse(line);
  CHECK(answer.ok()) << answer.status() << " of " << line;
  if (request != nullptr) CHECK(Must(IdTextOf(*answer)) == request->IdText()) << line;
  if (!answer->Has("error")) return;
  const std::string error = Must(answer->String("error"));
  CHECK(Printable(error) == error) << error;
}

void CheckRead(const TextRequest& read, const Engine& engine) {
  CHECK(!read.prompt.empty() && static_cast<int>(read.prompt.size()) <= engine.context()) << read.prompt.size();
  for (const TokenId token : read.prompt) CHECK(token >= 0 && token < engine.config().vocabulary) << token;
  CHECK_GE(read.max_tokens.value_or(0), 0);
  CHECK(Sampler::Create(read.sampling).ok());
  if (read.stop.has_value()) CHECK_LE(read.stop->size(), static_cast<size_t>(RequestLimits::kMostStops));
  for (const std::optional<int>& count : {read.answers, read.best_of}) CHECK(count.value_or(1) >= 1 && count.value_or(1) <= kMostTexts);
  CHECK(!read.answers.has_value() || !read.best_of.has_value());
  for (const AdapterPart& part : read.adapter.value_or(AdapterParts())) {
    CHECK(std::find(Adapters().begin(), Adapters().end(), part.name) != Adapters().end() && std::isfinite(part.scale)) << part.name;
  }
}

bool Same(const TextRequest& a, const TextRequest& b) {
  return a.prompt == b.prompt && a.max_tokens == b.max_tokens && a.stop == b.stop && a.answers == b.answers && a.best_of == b.best_of &&
         a.adapter == b.adapter && a.distinct_first_tokens == b.distinct_first_tokens && a.sampling.seed == b.sampling.seed;
}

std::string Message(absl::string_view role, absl::string_view more) {
  return absl::StrCat("{\"role\": \"", role, "\", ", more, "}");
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  FuzzBytes bytes(input);
  const ConversationOptions chat = {.chat_template = kForms[bytes.Below(std::size(kForms))]};
  const std::string line = bytes.Rest();
  const Engine& engine = TheEngine();
  absl::StatusOr<Request> request = Request::Parse(line, kSource, RequestLimits::Of(engine));
  if (!request.ok()) {
    CHECK(absl::StartsWith(request.status().message(), kSource)) << request.status();
    CheckAnswer(ErrorAnswer(7, request.status()), nullptr);
    return request.status();
  }
  const absl::StatusOr<TextRequest> read = ReadTextRequest(*request, engine, chat, {}, {.listed = Adapters()});
  const absl::StatusOr<TextRequest> again = ReadTextRequest(*request, engine, chat, {}, {.listed = Adapters()});
  CHECK(read.status() == again.status()) << again.status();
  if (read.ok()) {
    CheckRead(*read, engine);
    CHECK(Same(*read, *again));
    CheckAnswer(TextAnswer(*request, read->prompt, {}), &*request);
  } else {
    const absl::Status error = request->At(read.status());
    CHECK(absl::StartsWith(error.message(), kSource) && request->At(error) == error) << error;
    CHECK(!absl::IsInternal(error) && !absl::IsUnknown(error)) << error;
    CheckAnswer(ErrorAnswer(*request, error), &*request);
  }
  const std::string id = request->IdText();
  request->ForgetBody();
  CHECK(request->IdText() == id);
  return read.status();
}

std::vector<FuzzSeed> Seeds() {
  const std::string user = Message("user", "\"content\": \"Hi\"");
  const std::string tools = R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}])";
  const std::string call = Message("assistant", R"("content": null, "tool_calls": [{"type": "function", "function": {"name": "f", )"
                                                R"("arguments": "{\"a\": [1, 2.5]}"}}])");
  const std::string bodies[] = {
      R"("text": "Hello", "n": 20)", R"("text": "a", "special": true, "stop": "b")", R"("tokens": [70, 71])", R"("tokens": [265])",
      R"("text": "a", "n_predict": 3, "stop": ["b", ""], "seed": 18446744073709551615, "temperature": 1.5, "top_k": 1000)",
      R"("text": "a", "top_p": 0.5, "min_p": 0, "repetition_penalty": 1.25, "penalty_window": 2, "answers": 4)",
      R"("text": "a", "answers": 2, "temperature": 0, "distinct_first_tokens": true)", R"("text": "a", "best_of": 3, "adapter": "pirate")",
      R"("text": "a", "adapter": null)", R"("text": "a", "adapter": "other\n")", R"("text": "a", "unknown": 1)", R"("text": null)",
      R"("text": "a", "n": 1, "n_predict": 2)", R"("text": "a", "temperature": -1)", R"("text": "a", "temperature": 1e300)",
      absl::StrCat("\"messages\": [", user, "]"), absl::StrCat("\"messages\": [", user, "], \"tools\": ", tools),
      absl::StrCat("\"messages\": [", user, ",", call, ",", Message("tool", "\"content\": \"5\""), "], \"tools\": ", tools),
      absl::StrCat("\"messages\": [", user, ",", call, "]"),
      absl::StrCat("\"messages\": [", Message("system", "\"content\": \"Be kind.\""), ",", user,
          "], \"template_args\": {\"enable_thinking\": true}"),
      absl::StrCat("\"messages\": [", user, ",", Message("assistant", "\"content\": \"Be\""), "], \"continue_final_message\": true"),
      absl::StrCat("\"messages\": [", user, ",", Message("assistant", "\"content\": \"Be\""), "]"),
      absl::StrCat("\"messages\": [", Message("user", R"("content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])"), "]"),
      absl::StrCat("\"messages\": [", Message("user", R"("content": [{"type": "image"}])"), "]"),
      absl::StrCat("\"messages\": [", Message("user", "\"content\": \"<assistant>\\u0007<|im_end|>\""), "]"),
      "\"messages\": []", "\"messages\": [5]", "\"messages\": [{}]", "\"messages\": [{\"role\": \"\", \"content\": \"\"}]",
      absl::StrCat("\"messages\": [", user, "], \"tools\": [{}]"), absl::StrCat("\"messages\": [", user,
          "], \"template_args\": {\"x\": 1}"),
      absl::StrCat("\"text\": \"", std::string(140, 'x'), "\"")};
  std::vector<FuzzSeed> seeds;
  for (const std::string& body : bodies) {
    for (size_t form = 0; form < std::size(kForms); ++form) {
      const std::string line = absl::StrCat("{\"id\": \"a\", ", body, "}");
      seeds.push_back({absl::StrCat("line_", seeds.size()), std::string(1, static_cast<char>(form)) + line});
    }
  }
  for (const char* line : {"", "{", "[]", "{}", "{\"id\": 1.5}", "{\"id\": null}", "{\"id\": -5, \"text\": \"\\ud800\"}", "{\"id\": 1} x",
                           "\xff",
                           "{\"id\": 18446744073709551615, \"text\": \"a\"}", "{\"id\": \"\\u0000\\u001b\", \"text\": \"\\n\"}"}) {
    seeds.push_back({absl::StrCat("bad_", seeds.size()), std::string(1, '\0') + line});
  }
  return seeds;
}

}  // namespace tessera
