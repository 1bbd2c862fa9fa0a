#include "tessera/runtime/chat/conversation.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tessera/base/usage_error.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/runtime/chat/prompt_size.h"
#include "tessera/runtime/chat/request.h"
#include "tessera/runtime/chat/request_limits.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/gguf_metadata.h"
#include "tessera/tests/fakes/small_vocabularies.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

const std::string kLlama = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/llama.gguf";   // Has no chat template.

TEST(Conversation, HeaderExample) {
  const auto engine = Must(Engine::Open({.model_path = kLlama}));
  Conversation conversation =
      Must(Conversation::Create(engine->model().gguf(), {.chat_template = "chatml", .system = "You answer in rhymes."}));
  conversation.AddUser("What is 2 + 2?");
  const std::vector<TokenId> prompt = Must(conversation.Tokens(engine->tokenizer()));
  conversation.AddAnswer("4");
  conversation.AddUser("And 3 + 3?");
  const std::vector<TokenId> next = Must(conversation.Tokens(engine->tokenizer()));
  ASSERT_GT(next.size(), prompt.size());
  EXPECT_TRUE(std::equal(prompt.begin(), prompt.end(), next.begin())) << "the next prompt holds the one before";
  conversation.Reset();
  conversation.AddUser("What is 2 + 2?");
  EXPECT_EQ(Must(conversation.Tokens(engine->tokenizer())), prompt) << "the system message stays";
}

TEST(Conversation, RawIsTheLastMessageAlone) {
  const auto engine = Must(Engine::Open({.model_path = kLlama}));
  for (const ConversationOptions& options : {ConversationOptions{.raw = true}, ConversationOptions{}}) {
    Conversation conversation = Must(Conversation::Create(engine->model().gguf(), options));
    EXPECT_TRUE(conversation.raw());
    EXPECT_EQ(conversation.form(), "raw");
    EXPECT_TRUE(Must(conversation.Tokens(engine->tokenizer())).empty());
    conversation.AddUser("the");
    conversation.AddUser("in");
    EXPECT_EQ(Must(conversation.Tokens(engine->tokenizer())), engine->tokenizer().Encode("in", {.parse_special = true, .add_bos = true}));
  }
}

TEST(Conversation, GoesOnWithTheMessagesOfAnother) {
  const auto engine = Must(Engine::Open({.model_path = kLlama}));
  const auto create = [&](const std::optional<std::string>& system) {
    return Must(Conversation::Create(engine->model().gguf(), {.chat_template = "chatml", .system = system}));
  };
  Conversation first = create("You answer in rhymes.");
  first.AddUser("What is 2 + 2?");
  first.AddAnswer("4");
  for (const bool again : {false, true}) {
    Conversation second = create(again ? std::optional<std::string>("You answer in rhymes.") : std::nullopt);
    EXPECT_EQ(second.GoOnWith(first.messages()), absl::OkStatus());
    EXPECT_EQ(Must(second.Tokens(engine->tokenizer())), Must(first.Tokens(engine->tokenizer())));
    second.Reset();
    ASSERT_EQ(second.messages().size(), 1u) << "the system message stays";
    EXPECT_EQ(second.messages()[0].content, "You answer in rhymes.");
  }
  const absl::Status other = create("Be brief.").GoOnWith(first.messages()), none = create("Be brief.").GoOnWith({{"user", "a"}});
  EXPECT_EQ(FieldOf(other), "system");
  EXPECT_EQ(other.message(), "system: found \"Be brief.\", expected \"You answer in rhymes.\", with which the dialogue began, or none, as "
                             "an earlier dialogue goes on");
  EXPECT_EQ(none.message(), "system: found \"Be brief.\", expected none, as an earlier dialogue goes on");
  EXPECT_EQ(create("").GoOnWith({{"user", "a"}}).message(), "system: found \"\", expected none, as an earlier dialogue goes on");
  EXPECT_EQ(create("").GoOnWith({{"system", ""}, {"user", "a"}}), absl::OkStatus());
}

TEST(Conversation, AnotherDialogueReplacesMessagesAndSystemMessage) {
  const auto engine = Must(Engine::Open({.model_path = kLlama}));
  Conversation conversation = Must(Conversation::Create(engine->model().gguf(), {.chat_template = "chatml", .system = "Be brief."}));
  conversation.AddUser("a");
  for (const std::vector<ChatMessage>& other : {std::vector<ChatMessage>{{"system", "Be kind."}, {"user", "b"}}, {{"user", "c"}}}) {
    ASSERT_EQ(conversation.Replace(other), absl::OkStatus());
    ASSERT_EQ(conversation.messages().size(), other.size());
    EXPECT_EQ(conversation.messages()[0].content, other[0].content);
    conversation.Reset();
    EXPECT_EQ(conversation.messages().size(), other.size() - 1) << "its system message stays, if it has one";
  }
}

TEST(Conversation, ASystemMessageThatIsSetLaterStandsFirstAndStays) {
  const auto engine = Must(Engine::Open({.model_path = kLlama}));
  Conversation later = Must(Conversation::Create(engine->model().gguf(), {.chat_template = "chatml"}));
  later.AddUser("What is 2 + 2?");
  for (const char* const text : {"Be brief.", "You answer in rhymes."}) {
    Conversation from_begin = Must(Conversation::Create(engine->model().gguf(), {.chat_template = "chatml", .system = text}));
    from_begin.AddUser("What is 2 + 2?");
    ASSERT_EQ(later.SetSystem(text), absl::OkStatus());
    EXPECT_EQ(Must(later.Tokens(engine->tokenizer())), Must(from_begin.Tokens(engine->tokenizer())));
  }
  later.Reset();
  ASSERT_EQ(later.messages().size(), 1u);
  EXPECT_EQ(later.messages()[0].content, "You answer in rhymes.");
}

TEST(Conversation, AnEmptySystemMessageIsOne) {
  const auto engine = Must(Engine::Open({.model_path = kLlama}));
  Conversation conversation = Must(Conversation::Create(engine->model().gguf(), {.chat_template = "chatml", .system = ""}));
  conversation.AddUser("a");
  EXPECT_EQ(Must(conversation.Text(engine->tokenizer())),
            "<|im_start|>system\n<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(FieldOf(Conversation::Create(engine->model().gguf(), {.system = ""}).status()), "system");
}

// A run that goes on over midnight: each prompt has the date at which it was asked.
TEST(Conversation, EachPromptHasItsOwnDate) {
  TokenizerMetadata metadata = SmallBytePair();
  metadata.Set("tokenizer.chat_template",
               TokenizerMetadata::String("{{ strftime_now('%Y-%m-%d') }}{% for m in messages %} {{ m.content }}{% endfor %}"));
  const std::unique_ptr<GgufFile> file = Must(OpenAsGguf(metadata));
  const std::unique_ptr<Tokenizer> tokenizer = Must(ReadTokenizer(*file));
  constexpr int64_t kDay = 24 * 60 * 60;
  int64_t now = 1764072000;   // 25 November 2025, 12:00 UTC.
  const ConversationOptions options = {.date = [&] { return now; }};
  Conversation conversation = Must(Conversation::Create(*file, options));
  conversation.AddUser("a");
  now += kDay;
  EXPECT_EQ(Must(conversation.Text(*tokenizer)), "2025-11-25 a") << "the day on which the question came";
  conversation.AddAnswer("b");
  conversation.AddUser("c");
  EXPECT_EQ(Must(conversation.Text(*tokenizer)), "2025-11-26 a b c");
  const auto request = Must(JsonValue::Parse(R"({"messages": [{"role": "user", "content": "d"}]})"));
  now += kDay;
  EXPECT_EQ(Must(Must(ConversationOf(request, *file, options)).Text(*tokenizer)), "2025-11-27 d");
  Conversation undated = Must(Conversation::Create(*file, {}));
  undated.AddUser("a");
  EXPECT_FALSE(undated.Text(*tokenizer).ok());
}

TEST(Conversation, WrongOptionsAreRefusedByName) {
  const auto engine = Must(Engine::Open({.model_path = kLlama}));
  EXPECT_EQ(FieldOf(Conversation::Create(engine->model().gguf(), {.system = "a"}).status()), "system");
  EXPECT_EQ(FieldOf(Conversation::Create(engine->model().gguf(), {.chat_template = "chatlm"}).status()), "chat_template");
  EXPECT_FALSE(Conversation::Create(engine->model().gguf(), {.needs_template = true}).ok());
}

TEST(PromptSize, HeaderExampleAndLimits) {
  const auto engine = Must(Engine::Open({.model_path = kLlama, .cache = {.context = 10}}));
  EXPECT_TRUE(RequestLimits::Of(*engine).CheckText(10).ok());
  const absl::Status bytes = RequestLimits::Of(*engine).CheckText(1 << 16);
  EXPECT_TRUE(absl::IsResourceExhausted(bytes));
  EXPECT_EQ(LimitOf(bytes), "context");
  EXPECT_TRUE(CheckTokensFit(10, engine->context()).ok());
  EXPECT_EQ(LimitOf(CheckTokensFit(11, engine->context())), "context");
  EXPECT_TRUE(absl::IsInvalidArgument(CheckTokensFit(0, engine->context())));
}

}  // namespace
}  // namespace tessera
