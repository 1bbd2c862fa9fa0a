#include "tessera/model/files/read_tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/text_stream.h"
#include "tessera/tests/fakes/gguf_metadata.h"
#include "tessera/tests/fakes/random_text.h"
#include "tessera/tests/fakes/real_tokenizers.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

void ExpectGoldenTokens(const std::string& name) {
  const Tokenizer* tokenizer = RealTokenizer(name);
  if (tokenizer == nullptr) return;
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/tests/golden/" + name + "/tokenize.jsonl");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const auto golden = nlohmann::json::parse(line);
    const std::string text = golden["text"];
    const bool special = golden["special"];
    const Tokens tokens = tokenizer->Encode(text, {.parse_special = special});
    EXPECT_EQ(tokens, golden["tokens"].get<Tokens>()) << golden["id"] << ": " << text;
    if (golden["roundtrip"]) {
      EXPECT_EQ(Join(*tokenizer, tokens, special), text);
    }
  }
  EXPECT_GE(lines, 88);
}

// The tokens of SmolLM2's golden prompts, by id.
std::map<std::string, Tokens> GoldenPrompts() {
  std::map<std::string, Tokens> prompts;
  std::ifstream file(TESSERA_SOURCE_DIR "/tests/golden/smollm2/generate_f32.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto golden = nlohmann::json::parse(line);
    prompts[golden["id"]] = golden["prompt_tokens"].get<Tokens>();
  }
  return prompts;
}

double SecondsFor(const Tokenizer& tokenizer, const std::string& text, Tokens* tokens) {
  const double begin = CpuSeconds();
  *tokens = tokenizer.Encode(text);
  return CpuSeconds() - begin;
}

TEST(ReadTokenizer, HeaderExample) {
  TokenizerMetadata metadata = SmallBytePair();
  metadata.Set("tokenizer.chat_template", TokenizerMetadata::String("<|im_start|>{{ messages[0]['role'] }}:{{ messages[0].content }}"));
  const auto file = OpenAsGguf(metadata);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto example = [](const GgufFile* file, std::string* out) -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, ReadTokenizer(*file));
    ASSIGN_OR_RETURN(ChatTemplate chat, ReadChatTemplate(*file));
    const std::vector<ChatMessage> messages = {{"user", "hi"}};
    ASSIGN_OR_RETURN(const std::vector<ChatPiece> pieces, chat.RenderPieces({.messages = messages}));
    *out = Join(*tokenizer, EncodeChat(*tokenizer, pieces), true);
    return absl::OkStatus();
  };
  std::string text;
  ASSERT_TRUE(example(file->get(), &text).ok());
  EXPECT_EQ(text, "<|im_start|>user:hi");
}

// What the template of a file with these writes of a dialogue.
std::string WrittenBy(std::vector<std::string> names, bool with_tools) {
  TokenizerMetadata metadata = SmallBytePair();
  for (const std::string& name : names) {
    metadata.Set("tokenizer.chat_template" + name, TokenizerMetadata::String(name + ":{{ messages[0].content }}"));
  }
  const auto file = *OpenAsGguf(metadata);
  EXPECT_TRUE(ReadTokenizer(*file).ok()) << "all these keys are known";
  const auto chat = ReadChatTemplate(*file, with_tools);
  EXPECT_EQ(HasChatTemplate(*file, with_tools), chat.ok());
  if (!chat.ok()) return std::string(chat.status().message());
  const std::vector<ChatMessage> messages = {{"user", "hi"}};
  return chat->Render({.messages = messages}).value_or("");
}

TEST(ReadTokenizer, TheTemplateIsTheOneForTheDialogue) {
  EXPECT_EQ(WrittenBy({"", ".default", ".tool_use", ".rag"}, false), ":hi");
  EXPECT_EQ(WrittenBy({"", ".default", ".tool_use", ".rag"}, true), ".tool_use:hi");
  EXPECT_EQ(WrittenBy({".default", ".rag"}, false), ".default:hi");
  EXPECT_EQ(WrittenBy({".default", ".rag"}, true), ".default:hi");
  EXPECT_EQ(WrittenBy({".tool_use"}, true), ".tool_use:hi");
}

TEST(ReadTokenizer, AFileWithoutATemplateForDialoguesNamesItsTemplates) {
  for (const bool with_tools : {false, true}) {
    const std::string other = WrittenBy({".rag", ".long"}, with_tools), none = WrittenBy({}, with_tools);
    EXPECT_NE(other.find("found none for dialogues (only \"long\", \"rag\"), expected a chat template; name one of chatml"),
              std::string::npos) << other;
    EXPECT_NE(none.find("found none, expected a chat template"), std::string::npos) << none;
  }
}

TEST(ReadTokenizer, AFileThatIsNoModelHasNoVocabulary) {
  const auto check = [](const std::string& type) {
    TokenizerMetadata metadata = SmallBytePair();
    metadata.Set("general.type", TokenizerMetadata::String(type));
    return CheckHasVocabulary(**OpenAsGguf(metadata));
  };
  EXPECT_EQ(check("model"), absl::OkStatus());
  EXPECT_EQ(check("vocab"), absl::OkStatus());
  for (const char* type : {"adapter", "mmproj", "novelty"}) {
    EXPECT_NE(check(type).message().find(std::string("found \"") + type + "\", expected \"model\""), std::string::npos) << check(type);
  }
}

// What text finds wrong with a fact, it says of the place that the fact has in the file; every such error is in bad_vocabularies.h.
TEST(ReadTokenizer, ErrorsNameThePlaceInTheFile) {
  TokenizerMetadata metadata = SmallBytePair();
  metadata.Set("tokenizer.ggml.merges", TokenizerMetadata::Strings({"h e", "l l", "zz e"}));
  metadata.Set("tokenizer.chat_template", TokenizerMetadata::String("{{"));
  GgufBuilder builder;
  AddTo(builder, metadata);
  const std::string bytes = builder.Build();
  const auto file = GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "x.gguf");
  ASSERT_TRUE(file.ok()) << file.status();
  const size_t merge = builder.OffsetOf("metadata tokenizer.ggml.merges value") + 2 * (8 + 3);
  EXPECT_EQ(ReadTokenizer(**file).status(),
            absl::InvalidArgumentError("x.gguf: metadata \"tokenizer.ggml.merges\" value[2] at byte " + std::to_string(merge) +
                                       ": found \"zz e\", expected two texts with a space between, whose joined text is a token"));
  const size_t source = builder.OffsetOf("metadata tokenizer.chat_template value");
  const std::string message(ReadChatTemplate(**file).status().message());
  const std::string place = "x.gguf: metadata \"tokenizer.chat_template\" value at byte " + std::to_string(source) + ": line 1: found";
  EXPECT_EQ(message.substr(0, place.size()), place);
}

// A fact of the wrong type is an error for the kind that needs it, and none for others.
TEST(ReadTokenizer, AKindChecksOnlyItsOwnFacts) {
  TokenizerMetadata bytes = SmallBytePair(), pieces = SmallSentencePiece();
  bytes.Set("tokenizer.ggml.scores", TokenizerMetadata::String("none"));
  pieces.Set("tokenizer.ggml.merges", TokenizerMetadata::Uint(0));
  pieces.Set("tokenizer.ggml.pre", TokenizerMetadata::Uint(0));
  for (const TokenizerMetadata* metadata : {&bytes, &pieces}) {
    const auto file = OpenAsGguf(*metadata);
    EXPECT_TRUE(ReadTokenizer(**file).ok()) << ReadTokenizer(**file).status();
  }
}

TEST(ReadTokenizer, EqualsGoldenTokensOfSmolLM2) { ExpectGoldenTokens("smollm2"); }
TEST(ReadTokenizer, EqualsGoldenTokensOfGemma3) { ExpectGoldenTokens("gemma3"); }

TEST(ReadTokenizer, KnowsTheRolesOfTheRealModels) {
  const Tokenizer* smollm2 = RealTokenizer("smollm2");
  const Tokenizer* gemma3 = RealTokenizer("gemma3");
  ASSERT_TRUE(smollm2 != nullptr && gemma3 != nullptr);
  EXPECT_EQ(smollm2->vocabulary_size(), 49152);
  EXPECT_FALSE(smollm2->adds_bos());
  EXPECT_EQ(smollm2->Encode("Hello", {.add_bos = true}), (Tokens{19556}));
  EXPECT_TRUE(smollm2->IsEnd(0) && smollm2->IsEnd(2));  // <|endoftext|>, <|im_end|>
  EXPECT_FALSE(smollm2->IsEnd(1));
  EXPECT_EQ(gemma3->vocabulary_size(), 262144);
  EXPECT_TRUE(gemma3->adds_bos());
  EXPECT_EQ(gemma3->Encode("", {.add_bos = true}), (Tokens{2}));
  EXPECT_TRUE(gemma3->IsEnd(1) && gemma3->IsEnd(106));  // <eos>, <end_of_turn>
  EXPECT_FALSE(gemma3->IsEnd(2) || gemma3->adds_space_prefix());
  EXPECT_FALSE(gemma3->IsEnd(212));                             // </s>, a tag of HTML there.
  EXPECT_EQ(gemma3->warning() + smollm2->warning(), "");
}

TEST(ReadTokenizer, OpensAQuarterMillionPiecesQuickly) {
  const std::string path = RealModelPath("gemma3");
  ASSERT_FALSE(path.empty()) << RealModelMissing("gemma3");
  auto file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok());
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = CpuSeconds();
    ASSERT_TRUE(ReadTokenizer(**file).ok());
    best = std::min(best, CpuSeconds() - begin);
  }
  EXPECT_LT(best, TimeLimit(0.1));
}

TEST(ReadTokenizer, GivesBackTheBytesOfAnyText) {
  const Tokenizer* gemma3 = RealTokenizer("gemma3");
  ASSERT_NE(gemma3, nullptr);
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const std::string text = RandomText(&random, 1 + i % 20);
    if (text.find("\u2581") == std::string::npos) {  // SentencePiece writes a space so: this character comes back as one.
      EXPECT_EQ(Join(*gemma3, gemma3->Encode(text)), text);
    }
  }
}

TEST(ReadTokenizer, PlainTextNeverBecomesAControlToken) {
  for (const char* name : {"smollm2", "gemma3"}) {
    const Tokenizer* tokenizer = RealTokenizer(name);
    ASSERT_NE(tokenizer, nullptr);
    int special = 0;
    for (TokenId token = 0; token < tokenizer->vocabulary_size(); ++token) {
      if (!tokenizer->IsSpecial(token)) continue;
      ++special;
      const std::string text = tokenizer->Piece(token, true);
      for (TokenId plain : tokenizer->Encode(text)) ASSERT_FALSE(tokenizer->IsSpecial(plain)) << text;
      EXPECT_EQ(tokenizer->Encode(text, {.parse_special = true}), (Tokens{token}));
    }
    EXPECT_GE(special, 17);
  }
}

TEST(ReadTokenizer, TakesAMegabyteOfOneLetterInUnderTwoSeconds) {
  const std::string text(1 << 20, 'a');
  for (const char* name : {"smollm2", "gemma3"}) {
    const Tokenizer* tokenizer = RealTokenizer(name);
    ASSERT_NE(tokenizer, nullptr);
    Tokens tokens;
    EXPECT_LT(SecondsFor(*tokenizer, text, &tokens), TimeLimit(2.0)) << name;
    EXPECT_EQ(Join(*tokenizer, tokens).size(), text.size());
  }
}

TEST(ReadTokenizer, TakesAMegabyteOfUserDefinedTokensInUnderTwoSeconds) {
  const Tokenizer* tokenizer = RealTokenizer("gemma3");
  ASSERT_NE(tokenizer, nullptr);
  const std::string text(1 << 20, '\n');  // Runs of 1 to 31 newlines are tokens.
  Tokens tokens;
  EXPECT_LT(SecondsFor(*tokenizer, text, &tokens), TimeLimit(2.0));
  EXPECT_EQ(tokens.size(), text.size() / 31 + 1);
}

TEST(ReadTokenizer, ATextStreamOfRealTokensGivesTheText) {
  for (const char* name : {"smollm2", "gemma3"}) {
    const Tokenizer* tokenizer = RealTokenizer(name);
    ASSERT_NE(tokenizer, nullptr);
    const std::string text = "Zwölf Boxkämpfer \U0001F468\u200D\U0001F469\u200D\U0001F467 मस्ते 한국어 𝕌\n";
    TextStream stream(tokenizer);
    std::string out;
    for (TokenId token : tokenizer->Encode(text)) out += stream.Append(token);
    EXPECT_EQ(out + stream.Finish(), text);
  }
}

TEST(ReadChatTemplate, GivesTheGoldenPromptsOfSmolLM2) {
  const std::string path = RealModelPath("smollm2");
  ASSERT_FALSE(path.empty()) << RealModelMissing("smollm2");
  auto file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok());
  const auto chat = ReadChatTemplate(**file);
  ASSERT_TRUE(chat.ok()) << chat.status().ToString();
  const std::map<std::string, std::string> questions = {
      {"coding-121",
       "Develop a Python program that reads all the text files under a directory and returns top-5 words with the"
       " most number of occurrences."},
      {"extraction-131",
       "Evaluate the following movie reviews on a scale of 1 to 5, with 1 being very negative, 3 being neutral, a"
       "nd 5 being very positive:\n1. This movie released on Nov. 18, 2019, was phenomenal. The cinematography, th"
       "e acting, the plot - everything was top-notch.\n2. Never before have I been so disappointed with a movie. "
       "The plot was predictable and the characters were one-dimensional. In my opinion, this movie is the worst "
       "one to have been released in 2022.\n3. The movie was okay. There were some parts I  enjoyed, but there wer"
       "e also parts that felt lackluster. This is a movie that was released in Feb 2018 and seems to be quite or"
       "dinary.\nReturn the answer as a JSON array of integers."},
      {"reasoning-101",
       "Imagine you are participating in a race with a group of people. If you have just overtaken the second per"
       "son, what's your current position? Where is the person you just overtook?"},
  };
  const std::map<std::string, Tokens> golden = GoldenPrompts();
  const Tokenizer* tokenizer = RealTokenizer("smollm2");
  ASSERT_NE(tokenizer, nullptr);
  for (const auto& [id, question] : questions) {
    ASSERT_EQ(golden.count(id), 1u) << id;
    const std::vector<ChatMessage> messages = {{"user", question}};
    EXPECT_EQ(EncodeChat(*tokenizer, *chat->RenderPieces({.messages = messages})), golden.at(id)) << id;
    EXPECT_EQ(tokenizer->Encode(*chat->Render({.messages = messages}), {.parse_special = true, .add_bos = true}), golden.at(id)) << id;
  }
}

TEST(ReadChatTemplate, EncodeChatEqualsThePlainEncodingWhereContentsHoldNoSpecialText) {
  for (const char* name : {"smollm2", "gemma3"}) {
    const Tokenizer* tokenizer = RealTokenizer(name);
    ASSERT_NE(tokenizer, nullptr);
    for (const char* form : {"chatml", "gemma", "llama3", "none"}) {
      const ChatTemplate chat = *ChatTemplate::ByName(form);
      for (const char* content : {"", " ", "\n\nx\n", "Hi  there", "<|im_", "中文\t", "1234 'S"}) {
        const std::vector<ChatMessage> messages = {{"user", content}, {"assistant", content}};
        EXPECT_EQ(EncodeChat(*tokenizer, *chat.RenderPieces({.messages = messages})),
                  tokenizer->Encode(*chat.Render({.messages = messages}), {.parse_special = true, .add_bos = true}))
            << name << " " << form << " \"" << content << "\"";
      }
    }
  }
}

}  // namespace
}  // namespace tessera
