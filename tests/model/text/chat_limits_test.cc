// What the rendering of a dialogue may take, in all runs of its template together.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/model/text/chat_template.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/small_vocabularies.h"

namespace tessera {
namespace {

ChatTemplate FromText(const std::string& source) {
  TokenizerMetadata metadata;
  metadata.Set("tokenizer.chat_template", TokenizerMetadata::String(source));
  return Must(ChatTemplate::FromSource(metadata.ChatFacts()));
}

// The template writes the role of each message alone: it is rendered once more for each, to see whether something is left out.
TEST(ChatTemplate, AllRenderingsOfADialogueHaveTheLimitsOfOne) {
  const ChatTemplate chat = FromText(
      "{% for m in messages %}{{ m.role }}{% for a in range(60000) %}{% endfor %}{{ m.content | length }}{% endfor %}");
  const std::vector<ChatMessage> few(2, {"user", "a text"}), many(60, {"user", "a text"});
  EXPECT_FALSE(absl::IsResourceExhausted(chat.RenderPieces({.messages = few}).status()));
  const absl::Status status = chat.RenderPieces({.messages = many}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "steps")) << status;
}

TEST(ChatTemplate, OutputAndWorkingMemoryAreBounded) {
  const ChatTemplate chat = FromText(
      "{% set ns = namespace(all='') %}{% for m in messages %}{% set ns.all = ns.all ~ m.content %}{% endfor %}{{ ns.all }}");
  const std::vector<ChatMessage> messages(20, {"user", std::string(1000, 'a')});
  EXPECT_TRUE(chat.RenderPieces({.messages = messages}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(chat.RenderPieces({.messages = messages, .limits = {.output_bytes = 10'000}}).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(chat.RenderPieces({.messages = messages, .limits = {.memory_bytes = 100'000}}).status()));
}

}  // namespace
}  // namespace tessera
