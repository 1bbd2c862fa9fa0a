#include "tessera/base/length_prefixed_strings.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(LengthPrefixedStrings, HeaderExample) {
  std::vector<std::string> used;
  const auto Use = [&](absl::string_view text) { used.emplace_back(text); };
  std::string bytes;
  for (const char* text : {"a", "bc"}) AppendLengthPrefixed(text, bytes);
  for (absl::string_view text : LengthPrefixedStrings(bytes, /*count=*/2)) Use(text);
  EXPECT_EQ(used, (std::vector<std::string>{"a", "bc"}));
}

TEST(LengthPrefixedStrings, HoldAnyBytes) {
  const std::vector<std::string> texts = {"", std::string("\0\xff", 2), "", std::string(1000, 'x'), ""};
  std::string bytes;
  for (const std::string& text : texts) AppendLengthPrefixed(text, bytes);
  std::vector<std::string> found;
  const LengthPrefixedStrings list(bytes, texts.size());
  for (const absl::string_view text : list) found.emplace_back(text);
  EXPECT_EQ(found, texts);
  EXPECT_EQ(list.size(), 5u);
  EXPECT_EQ(list.bytes().size(), bytes.size());
}

TEST(LengthPrefixedStrings, KnowWhereEachBegins) {
  std::string bytes;
  for (const char* text : {"a", "", "bcd"}) AppendLengthPrefixed(text, bytes);
  const LengthPrefixedStrings list(bytes, 3);
  EXPECT_EQ(list.OffsetOf(0), 0);
  EXPECT_EQ(list.OffsetOf(1), 9);
  EXPECT_EQ(list.OffsetOf(2), 17);
  EXPECT_EQ(list.OffsetOf(3), 28);
}

TEST(LengthPrefixedStrings, NoneIsEmpty) {
  for (const absl::string_view text : LengthPrefixedStrings()) FAIL() << text;
  EXPECT_EQ(LengthPrefixedStrings().size(), 0u);
}

}  // namespace
}  // namespace tessera
