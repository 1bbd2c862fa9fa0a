// Makes a tokenizer from a vocabulary of its own, encodes a text and reads it back, and chooses the likeliest token.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/byte_alphabet.h"
#include "tessera/model/text/chat_template.h"
#include "tessera/model/text/sampler.h"
#include "tessera/model/text/text_stream.h"
#include "tessera/model/text/tokenizer.h"

namespace {

using namespace tessera;

// All bytes, three merges of them, and two marks: 0 to 255, 256 to 258, 259 and 260.
absl::StatusOr<std::unique_ptr<Tokenizer>> SmallTokenizer() {
  std::string tokens, merges;
  for (int byte = 0; byte < 256; ++byte) AppendLengthPrefixed(ByteCharacter(static_cast<uint8_t>(byte)), tokens);
  for (const char* text : {"bl", "ue", "blue", "<|im_start|>", "<|im_end|>"}) AppendLengthPrefixed(text, tokens);
  for (const char* merge : {"b l", "u e", "bl ue"}) AppendLengthPrefixed(merge, merges);
  TokenizerFacts facts;
  facts.model.value = "gpt2";
  facts.pre_tokenizer.value = "gpt-2";
  facts.tokens.value = LengthPrefixedStrings(tokens, 261);
  facts.types.value = std::vector<int32_t>(261, 1);
  facts.types.value->at(259) = facts.types.value->at(260) = 3;
  facts.merges.value = LengthPrefixedStrings(merges, 3);
  facts.eos.value = 260;
  return Tokenizer::Create(std::move(facts));
}

absl::Status Run() {
  ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, SmallTokenizer());
  ASSIGN_OR_RETURN(const ChatTemplate chat, ChatTemplate::ByName("chatml"));
  const std::vector<ChatMessage> messages = {{"user", "Is it blue?"}};
  ASSIGN_OR_RETURN(const std::vector<ChatPiece> pieces, chat.RenderPieces({.messages = messages, .add_generation_prompt = false}));
  const std::vector<TokenId> tokens = EncodeChat(*tokenizer, pieces);
  TextStream stream(tokenizer.get(), {.render_special = true});
  std::string text;
  for (const TokenId token : tokens) text += stream.Append(token);
  text += stream.Finish();
  ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create({.temperature = 0}));
  ASSIGN_OR_RETURN(const TokenId likeliest, sampler.Choose({0.5f, -1, 3, 2}, {}, /*stream=*/0, /*index=*/0));
  std::cout << "text: " << tokens.size() << " tokens, token " << likeliest << "\n";
  const bool right = text == "<|im_start|>user\nIs it blue?<|im_end|>\n" && tokens.size() == 16 && likeliest == 2;
  return right ? absl::OkStatus() : absl::InternalError("found another text: " + text);
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::cout << "text: " << status << "\n";
  return status.ok() ? 0 : 1;
}
