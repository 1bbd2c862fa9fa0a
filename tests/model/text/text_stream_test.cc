#include "tessera/model/text/text_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "tessera/model/text/internal/utf8.h"

namespace tessera {
namespace {

// A tokenizer whose token N is the byte N. With `prefix`, 256 is "hi" behind a space, as the first token of a text would be.
class ByteTokenizer final : public Tokenizer {
 public:
  explicit ByteTokenizer(bool prefix = false) : prefix_(prefix) {}
  using Tokenizer::Encode;
  using Tokenizer::Piece;
  std::vector<TokenId> Encode(absl::string_view text, const EncodeOptions&) const override {
    std::vector<TokenId> tokens;
    for (char byte : text) tokens.push_back(static_cast<uint8_t>(byte));
    return tokens;
  }
  std::string Piece(TokenId token, bool render_special) const override {
    if (token == 257) return render_special ? "<end>" : "";
    return token == 256 ? " hi" : std::string(1, static_cast<char>(token));
  }
  int vocabulary_size() const override { return 258; }
  std::optional<TokenId> bos() const override { return std::nullopt; }
  std::optional<TokenId> eos() const override { return 257; }
  bool adds_bos() const override { return false; }
  bool adds_space_prefix() const override { return prefix_; }
  bool IsEnd(TokenId token) const override { return token == 257; }
  bool IsSpecial(TokenId token) const override { return token == 257; }
  std::optional<TokenId> FindSpecial(absl::string_view) const override { return std::nullopt; }
  std::string warning() const override { return ""; }

 private:
  bool prefix_;
};

// What the stream gives for the bytes of `text`, each piece of it checked to be whole UTF-8.
std::string Streamed(const std::string& text) {
  const ByteTokenizer tokenizer;
  TextStream stream(&tokenizer);
  std::string out;
  for (TokenId token : tokenizer.Encode(text)) {
    const std::string piece = stream.Append(token);
    EXPECT_EQ(ValidUtf8Prefix(piece), piece.size());
    out += piece;
  }
  return out + stream.Finish();
}

// What StopStrings lets through of `text`, given to it in pieces that end at `cuts` (a bit for each byte).
std::string LetThrough(const std::vector<std::string>& stops, const std::string& text, uint32_t cuts, std::string* stop) {
  StopStrings filter(stops);
  std::string out;
  size_t begin = 0;
  for (size_t end = 1; end <= text.size(); ++end) {
    if (end < text.size() && (cuts >> end & 1) == 0) continue;
    out += filter.Append(absl::string_view(text).substr(begin, end - begin));
    begin = end;
  }
  out += filter.Finish();
  *stop = filter.stop();
  return out;
}

TEST(TextStream, HeaderExample) {
  const ByteTokenizer bytes;
  const Tokenizer* tokenizer = &bytes;
  const std::vector<TokenId> tokens = tokenizer->Encode("Hi é\nUser: next");
  std::string output;
  TextStream stream(tokenizer);
  StopStrings stops({"\nUser:"});
  for (TokenId token : tokens) {
    output += stops.Append(stream.Append(token));
    if (stops.stopped()) break;
  }
  output += stops.Append(stream.Finish());
  output += stops.Finish();
  EXPECT_EQ(output, "Hi é");
}

TEST(TextStream, HoldsHalfCharactersBack) {
  const ByteTokenizer tokenizer;
  TextStream stream(&tokenizer);
  EXPECT_EQ(stream.Append('a'), "a");
  EXPECT_EQ(stream.Append(0xF0), "");
  EXPECT_EQ(stream.Append(0x9F), "");
  EXPECT_EQ(stream.Append(0x98), "");
  EXPECT_EQ(stream.Append(0x80), "\U0001F600");
  EXPECT_EQ(stream.Finish(), "");
}

TEST(TextStream, GivesValidTextBackUnchanged) {
  const std::string text = "é 中文 \U0001F468\u200D\U0001F469 " + std::string(1, '\0') + " \r\n\t  end ";
  EXPECT_EQ(Streamed(text), text);
}

TEST(TextStream, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(Streamed("a\xFF" "b"), "a\uFFFDb");
  EXPECT_EQ(Streamed("\xE2\x82" "b"), "\uFFFDb");
  EXPECT_EQ(Streamed("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(Streamed("x\xF0\x9F\x98"), "x\uFFFD");
}

TEST(TextStream, DropsOnlyTheSpaceThatTheTokenizerAdded) {
  const ByteTokenizer adds(true), plain(false);
  TextStream first(&adds), none(&plain), later(&adds, {.starts_text = false});
  EXPECT_EQ(first.Append(257), "");  // A control token is no text yet.
  EXPECT_EQ(first.Append(256), "hi");
  EXPECT_EQ(first.Append(256), " hi");
  EXPECT_EQ(none.Append(256), " hi");
  EXPECT_EQ(later.Append(256), " hi");
  TextStream two(&adds);
  EXPECT_EQ(two.Append(' '), "");
  EXPECT_EQ(two.Append(' '), " ");
}

TEST(TextStream, ShowsControlTokensOnRequest) {
  const ByteTokenizer tokenizer;
  TextStream hidden(&tokenizer), shown(&tokenizer, {.render_special = true});
  EXPECT_EQ(hidden.Append(257), "");
  EXPECT_EQ(shown.Append(257), "<end>");
}

TEST(StopStrings, ShowsTheTextBeforeTheStopAndNothingAfter) {
  StopStrings stops({"STOP"});
  EXPECT_EQ(stops.Append("one S"), "one ");
  EXPECT_EQ(stops.Append("T"), "");
  EXPECT_EQ(stops.Append("ART ST"), "START ");
  EXPECT_FALSE(stops.stopped());
  EXPECT_EQ(stops.Append("OP and more"), "");
  EXPECT_TRUE(stops.stopped());
  EXPECT_EQ(stops.stop(), "STOP");
  EXPECT_EQ(stops.Append("more"), "");
  EXPECT_EQ(stops.Finish(), "");
}

TEST(StopStrings, GivesHeldTextBackAtTheEnd) {
  StopStrings stops({"\n\nUser"});
  EXPECT_EQ(stops.Append("text\n\nUs"), "text");
  EXPECT_EQ(stops.Finish(), "\n\nUs");
  EXPECT_FALSE(stops.stopped());
}

TEST(StopStrings, OfTwoThatEndTogetherTheLongerCounts) {
  std::string stop;
  EXPECT_EQ(LetThrough({"d", "bcd"}, "abcde", 0xFFFFFFFF, &stop), "a");
  EXPECT_EQ(stop, "bcd");
  EXPECT_EQ(LetThrough({"abcd", "c"}, "abcd", 0xFFFFFFFF, &stop), "ab");
  EXPECT_EQ(stop, "c");
}

TEST(StopStrings, DoesNotDependOnHowTextIsCut) {
  std::mt19937 random(2);
  const auto draw = [&](int size) {
    std::string text;
    for (int i = 0; i < size; ++i) text.push_back("ab"[random() % 2]);
    return text;
  };
  int stopped = 0;
  for (int round = 0; round < 500; ++round) {
    const std::vector<std::string> stops = {draw(3 + random() % 4), draw(2 + random() % 5)};
    const std::string text = draw(16);
    std::string whole_stop, cut_stop;
    const std::string whole = LetThrough(stops, text, 0, &whole_stop);
    EXPECT_EQ(LetThrough(stops, text, static_cast<uint32_t>(random()), &cut_stop), whole);
    EXPECT_EQ(cut_stop, whole_stop);
    stopped += whole_stop.empty() ? 0 : 1;
    if (!whole_stop.empty()) {
      EXPECT_EQ(text.compare(0, whole.size() + whole_stop.size(), whole + whole_stop), 0);
    }
  }
  EXPECT_GT(stopped, 100);
}

TEST(StopStrings, WithoutStopsEverythingPassesAtOnce) {
  StopStrings stops({""});
  EXPECT_EQ(stops.Append("anything"), "anything");
  EXPECT_FALSE(stops.stopped());
}

}  // namespace
}  // namespace tessera
