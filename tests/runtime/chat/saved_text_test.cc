#include "tessera/runtime/chat/saved_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/length_prefixed_strings.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/runtime/session/session_file.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

TEST(SavedText, HeaderExample) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("dialogue.session");
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const Answerer answerer = Must(Answerer::Create(*engine, {}));
  const auto run = [&]() -> absl::StatusOr<SavedText> {
    const SavedText text = {.is_dialogue = true, .messages = {{"user", "2 + 2?"}, {"assistant", "4"}}};
    RETURN_IF_ERROR(SaveSession(answerer.session(), path, text.Notes()));
    ASSIGN_OR_RETURN(LoadedSession loaded, LoadSession(*engine, path));
    ASSIGN_OR_RETURN(const SavedText again, SavedText::Parse(loaded.notes, path, engine->config().vocabulary));
    return again;
  };
  const SavedText again = Must(run());
  ASSERT_TRUE(again.is_dialogue);
  ASSERT_EQ(again.messages.size(), 2u);
  EXPECT_EQ(again.messages[1].role, "assistant");
  EXPECT_EQ(again.messages[1].content, "4");
}

TEST(SavedText, KeepsEveryByte) {
  const std::string odd("\0\xff\"\n", 4);
  const SavedText dialogue = {.is_dialogue = true, .messages = {{odd, ""}, {"", odd}}};
  const SavedText again = Must(SavedText::Parse(dialogue.Notes(), "file", 10));
  ASSERT_EQ(again.messages.size(), 2u);
  EXPECT_EQ(again.messages[0].role, odd);
  EXPECT_EQ(again.messages[1].content, odd);
  for (const std::vector<TokenId>& tokens : {std::vector<TokenId>(), std::vector<TokenId>{0, 9, 3}}) {
    const SavedText text = Must(SavedText::Parse(SavedText{.next = tokens}.Notes(), "file", 10));
    EXPECT_FALSE(text.is_dialogue);
    EXPECT_EQ(text.next, tokens);
  }
  EXPECT_FALSE(Must(SavedText::Parse("", "file", 10)).is_dialogue);
}

TEST(SavedText, ImpossibleNotesAreNamed) {
  const auto notes = [](const std::vector<std::string>& strings) {
    std::string bytes;
    for (const std::string& string : strings) AppendLengthPrefixed(string, bytes);
    return bytes;
  };
  const std::pair<std::string, std::string> cases[] = {
      {"text", "4 bytes for string 0, expected 8 and its length"},
      {notes({"text", "abcd"}).substr(0, 22), "10 bytes for string 1, expected 8 and its length"},
      {std::string(8, '\xff') + "text", "12 bytes for string 0, expected 8 and its length"},
      {notes({"poem"}), "\"poem\", expected \"text\" or \"dialogue\""},
      {notes({"dialogue", "user"}), "1 strings of a dialogue, expected two for each message"},
      {notes({"text"}), "0 strings of a text, expected one"},
      {notes({"text", "", ""}), "2 strings of a text, expected one"},
      {notes({"text", "abcde"}), "5 bytes of tokens, expected a multiple of 4"},
      {notes({"text", std::string("\x0a\0\0\0", 4)}), "token 10, expected 0 to 9"},
      {notes({"text", "\xff\xff\xff\xff"}), "token -1, expected 0 to 9"},
  };
  for (const auto& [bytes, message] : cases) {
    EXPECT_EQ(SavedText::Parse(bytes, "file", 10).status(), absl::DataLossError("file: notes: found " + message));
  }
}

}  // namespace
}  // namespace tessera
