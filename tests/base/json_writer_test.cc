#include "tessera/base/json_writer.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tessera/base/json.h"
#include "tessera/base/random.h"

namespace tessera {
namespace {

std::string Quoted(absl::string_view value) { return JsonWriter().String(value).text(); }

TEST(JsonWriter, HeaderExample) {
  const std::string model = "SmolLM2";
  JsonWriter json;
  json.BeginObject();
  json.Key("name").String(model);
  json.Key("tokens").BeginArray().Int(3).Int(5).EndArray();
  json.Key("seconds").Double(0.25);
  json.EndObject();
  std::string text = std::move(json).Take();
  EXPECT_EQ(text, R"({"name":"SmolLM2","tokens":[3,5],"seconds":0.25})");
}

TEST(JsonWriter, IndentsForPeople) {
  JsonWriter json(2);
  json.BeginObject().Key("a").BeginArray().Int(1).Null().EndArray().Key("b").BeginObject().EndObject().EndObject();
  EXPECT_EQ(json.text(), "{\n  \"a\": [\n    1,\n    null\n  ],\n  \"b\": {}\n}");
}

TEST(JsonWriter, WritesTheWholeRangeOfIntegers) {
  JsonWriter json;
  json.BeginArray().Int(INT64_MIN).Int(INT64_MAX).Uint(UINT64_MAX).Bool(true).Bool(false).EndArray();
  EXPECT_EQ(json.text(), "[-9223372036854775808,9223372036854775807,18446744073709551615,true,false]");
}

TEST(JsonWriter, EveryDoubleReadsBackAsItself) {
  SeededRandom random(1);
  for (int i = 0; i < 20'000; ++i) {
    const double value = std::bit_cast<double>(random.Next());
    if (!std::isfinite(value)) continue;
    const std::string text = JsonWriter().Double(value).text();
    ASSERT_EQ(*JsonValue::Parse(text)->AsDouble(), value) << text;
  }
}

TEST(JsonWriter, DoublesAreShortAndRoundedWhereAsked) {
  EXPECT_EQ(JsonWriter().Double(0.1).text(), "0.1");
  EXPECT_EQ(JsonWriter().Double(-3).text(), "-3");
  EXPECT_EQ(JsonWriter().Double(1e300).text(), "1e+300");
  EXPECT_EQ(JsonWriter().Double(2.0 / 3, 3).text(), "0.667");
  EXPECT_EQ(JsonWriter().Double(123456.0, 3).text(), "1.23e+05");
}

TEST(JsonWriter, NanAndInfinityBecomeNull) {
  JsonWriter json;
  json.BeginObject().Key("a").Double(std::nan("")).Key("b").Double(-std::numeric_limits<double>::infinity(), 3).EndObject();
  EXPECT_EQ(json.text(), R"({"a":null,"b":null})");
}

TEST(JsonWriter, EscapesForbiddenCharactersAndKeepsTheRest) {
  EXPECT_EQ(Quoted("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(Quoted(absl::string_view("\n\r\t\0\x1f\x7f", 6)), "\"\\n\\r\\t\\u0000\\u001f\x7f\"");
  EXPECT_EQ(Quoted("ä€😀"), "\"ä€😀\"");
}

// The examples of the Unicode standard, section 3.9, table 3-8 to 3-11: one U+FFFD for each maximal subpart.
TEST(JsonWriter, ReplacesInvalidUtf8) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(Quoted("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), "\"" + r + r + r + r + r + r + r + r + "A\"");
  EXPECT_EQ(Quoted("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), "\"" + r + r + r + r + r + r + r + r + "A\"");
  EXPECT_EQ(Quoted("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), "\"" + r + r + r + r + r + "A" + r + r + "B\"");
  EXPECT_EQ(Quoted("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\"" + r + r + r + r + "A\"");
  EXPECT_EQ(Quoted("x\xF0\x9F\x98"), "\"x" + r + "\"");  // Cut off at the end.
}

TEST(JsonWriter, AnyBytesGiveJsonThatParses) {
  SeededRandom random(2);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random.Below(20), '\0');
    for (char& c : bytes) c = static_cast<char>(random.Next());
    JsonWriter json;
    json.BeginObject().Key(bytes).String(bytes).EndObject();
    const absl::StatusOr<JsonValue> parsed = JsonValue::Parse(json.text());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
  }
}

TEST(JsonWriter, CallsThatCannotMakeJsonAreCheckFailures) {
  EXPECT_DEATH(JsonWriter().Int(1).Int(2), "a second value");
  EXPECT_DEATH(JsonWriter().BeginObject().Int(1), "without its key");
  EXPECT_DEATH(JsonWriter().BeginArray().Key("a"), "no place for a key");
  EXPECT_DEATH(JsonWriter().BeginArray().EndObject(), "nothing to end");
  EXPECT_DEATH(JsonWriter().BeginObject().Key("a").EndObject(), "nothing to end");
  EXPECT_DEATH(std::move(JsonWriter().BeginArray()).Take(), "unfinished");
}

}  // namespace
}  // namespace tessera
