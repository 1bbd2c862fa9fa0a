#include "tessera/model/text/tokenizer_facts.h"

#include <gtest/gtest.h>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/tokenizer.h"

namespace tessera {
namespace {

TEST(TokenizerFacts, HeaderExample) {
  const auto example = [](std::vector<TokenId>* out) -> absl::Status {
    std::string texts;
    for (const char* text : {"<unk>", "a", "b", "ab"}) AppendLengthPrefixed(text, texts);
    TokenizerFacts facts;
    facts.model.value = "llama";
    facts.tokens.value = LengthPrefixedStrings(texts, 4);
    facts.types.value = {2, 1, 1, 1};
    facts.scores.value = {0, 0, 0, -1};
    ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Create(std::move(facts)));
    *out = tokenizer->Encode("abb");
    return absl::OkStatus();
  };
  std::vector<TokenId> tokens;
  ASSERT_TRUE(example(&tokens).ok());
  EXPECT_EQ(tokens, (std::vector<TokenId>{0, 0, 0, 3, 2}));  // No token is the space before the text, nor one of its three bytes.
}

// The tokenizer copies what it needs: what the facts view may go.
TEST(TokenizerFacts, ATokenizerOutlivesTheBytesOfItsFacts) {
  auto texts = std::make_unique<std::string>();
  for (const char* text : {"<unk>", "abc"}) AppendLengthPrefixed(text, *texts);
  TokenizerFacts facts;
  facts.model.value = "llama";
  facts.tokens.value = LengthPrefixedStrings(*texts, 2);
  facts.types.value = {2, 1};
  facts.scores.value = {0, 0};
  const auto tokenizer = Tokenizer::Create(facts);
  texts->assign(texts->size(), '?');
  texts.reset();
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_EQ((*tokenizer)->Piece(1), "abc");
}

TEST(TokenizerFacts, NothingSaidIsAnErrorThatNamesTheFirstKey) {
  EXPECT_EQ(Tokenizer::Create(TokenizerFacts()).status(), absl::NotFoundError("metadata \"tokenizer.ggml.model\": found no such key"));
}

}  // namespace
}  // namespace tessera
