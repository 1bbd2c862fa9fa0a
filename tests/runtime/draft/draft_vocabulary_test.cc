#include "tessera/runtime/draft/draft_vocabulary.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/byte_alphabet.h"
#include "tessera/runtime/draft/model_expander.h"
#include "tessera/tests/fakes/small_vocabularies.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

// SmallBytePair with another text for its user-defined token, and more tokens at the end.
TokenizerMetadata Changed(const std::string& tag, int more = 0) {
  std::vector<std::string> tokens;
  std::vector<int32_t> types(256, 1);
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(ByteCharacter(static_cast<uint8_t>(byte)));
  for (const std::string& text : {std::string("he"), std::string("ll"), std::string("hell"), std::string("hello"), std::string("Ġhello"),
                                  std::string("<|im_start|>"), std::string("<|im_end|>"), tag, std::string("us")}) {
    tokens.push_back(text);
    types.push_back(text.starts_with("<|") ? 3 : text == tag ? 4 : 1);
  }
  for (int i = 0; i < more; ++i) {
    tokens.push_back("[PAD" + std::to_string(i) + "]");
    types.push_back(3);
  }
  TokenizerMetadata metadata = SmallBytePair();
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(tokens));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(types));
  return metadata;
}

absl::Status Check(const TokenizerMetadata& target, const TokenizerMetadata& draft) {
  return CheckSameVocabulary(*OpenTokenizer(target), *OpenTokenizer(draft));
}

TEST(CheckSameVocabulary, HeaderExample) {
  const auto engine = TinyEngine({.seed = 1}, {.compute = {.threads = 1}});
  const Engine& target = *engine;
  const std::shared_ptr<Engine> shared = TinyEngine({.seed = 2}, {.compute = {.threads = 1}}), draft = shared;
  const auto run = [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckSameVocabulary(target.model(), draft->model()));
    ASSIGN_OR_RETURN(auto expander, ModelExpander::Create(draft, {.vocabulary = target.config().vocabulary}));
    EXPECT_EQ(expander->name(), "draft");
    return absl::OkStatus();
  };
  EXPECT_TRUE(run().ok());
}

TEST(CheckSameVocabulary, TheFirstTokenThatDiffersIsNamed) {
  EXPECT_TRUE(Check(SmallBytePair(), SmallBytePair()).ok());
  EXPECT_TRUE(Check(SmallBytePair(), Changed("<ul>")).ok());
  const absl::Status other = Check(SmallBytePair(), Changed("<ol>"));
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(other.message(), "vocabulary: token 263: found \"<ol>\", expected \"<ul>\", the target's");
  const absl::Status kind = Check(SmallBytePair(), SmallSentencePiece());
  EXPECT_NE(kind.message().find("vocabulary: token 0: found \"<unk>\""), absl::string_view::npos) << kind;
}

TEST(CheckSameVocabulary, OneMayHaveSomeMoreAtTheEnd) {
  EXPECT_TRUE(Check(SmallBytePair(), Changed("<ul>", kMostMoreTokens)).ok());
  EXPECT_TRUE(Check(Changed("<ul>", kMostMoreTokens), SmallBytePair()).ok());
  EXPECT_EQ(Check(SmallBytePair(), Changed("<ul>", kMostMoreTokens + 1)).message(),
            "vocabulary: found 394 tokens, expected 265, the target's, or up to 128 more or fewer");
  EXPECT_FALSE(Check(Changed("<ul>", kMostMoreTokens + 1), SmallBytePair()).ok());
}

TEST(CheckSameVocabulary, MarksAreTheSame) {
  for (const auto& [key, name] : {std::pair("tokenizer.ggml.bos_token_id", "BOS"), std::pair("tokenizer.ggml.eos_token_id", "EOS")}) {
    TokenizerMetadata changed = SmallBytePair();
    changed.Set(key, TokenizerMetadata::Uint(kUs));
    const absl::Status status = Check(SmallBytePair(), changed);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(std::string(name) + ": found 264 \"us\""), absl::string_view::npos) << status;
  }
}

TEST(CheckSameVocabulary, ErrorsNameBothFiles) {
  const TemporaryFolder folder;
  TinyModelBuilder({}).WriteTo(folder.Path("large.gguf"));
  GgufBuilder small = TinyModelBuilder({});
  small.Remove("tokenizer.ggml.bos_token_id").Number<uint32_t>("tokenizer.ggml.bos_token_id", kUs);
  small.WriteTo(folder.Path("small.gguf"));
  const auto target = Must(LoadedModel::Open(folder.Path("large.gguf"), {}));
  const auto draft = Must(LoadedModel::Open(folder.Path("small.gguf"), {}));
  Must(target->AwaitTokenizer());
  Must(draft->AwaitTokenizer());
  const absl::Status status = CheckSameVocabulary(*target, *draft);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const char* file : {"small.gguf for ", "large.gguf: vocabulary: BOS: "}) {
    EXPECT_NE(status.message().find(file), absl::string_view::npos) << status;
  }
}

}  // namespace
}  // namespace tessera
