#include "tessera/base/json.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/quoted.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

JsonValue Parsed(absl::string_view text) {
  absl::StatusOr<JsonValue> value = JsonValue::Parse(text, "test");
  EXPECT_TRUE(value.ok()) << value.status();
  return *std::move(value);
}

std::string ErrorOf(absl::string_view text) { return std::string(JsonValue::Parse(text, "test").status().message()); }

absl::StatusOr<std::string> Example(absl::string_view body) {
  std::string used;
  const auto Use = [&](const absl::StatusOr<std::string>& content) { absl::StrAppend(&used, content.value_or("?"), ";"); };
  ASSIGN_OR_RETURN(JsonValue request, JsonValue::Parse(body, "request"));
  ASSIGN_OR_RETURN(std::string model, request.String("model"));
  ASSIGN_OR_RETURN(int64_t tokens, request.IntOr("max_tokens", 16, /*least=*/0, /*most=*/4096));
  ASSIGN_OR_RETURN(JsonValue messages, request.Array("messages"));
  for (int64_t i = 0; i < messages.size(); ++i) Use(messages[i].String("content"));
  return absl::StrCat(model, " ", tokens, " ", used);
}

TEST(Json, HeaderExample) {
  EXPECT_EQ(*Example(R"({"model":"m","messages":[{"content":"a"},{"content":"b"}]})"), "m 16 a;b;");
  EXPECT_EQ(Example(R"({"model":"m","max_tokens":5000,"messages":[]})").status().message(),
            "request: max_tokens: found 5000, expected an integer from 0 to 4096");
}

TEST(Json, EveryKindOfValueIsReadBack) {
  const JsonValue value = Parsed(R"( {"s":"a\u00e4\ud83d\ude00\n","i":-5,"u":18446744073709551615,"d":1.5e3,"t":true,"f":false,
                                     "z":null,"is":[1,2],"ds":[1,2.5],"ss":["x","" ],"o":{"k":{}},"e":[]} )");
  EXPECT_EQ(*value.String("s"), "aä😀\n");
  EXPECT_EQ(*value.Int("i"), -5);
  EXPECT_EQ(*value.Uint("u"), UINT64_MAX);
  EXPECT_EQ(*value.Double("d"), 1500);
  EXPECT_EQ(*value.Double("i"), -5);
  EXPECT_TRUE(*value.Bool("t"));
  EXPECT_FALSE(*value.Bool("f"));
  EXPECT_TRUE(value.Value("z")->is_null());
  EXPECT_EQ(*value.Ints("is"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(*value.Doubles("ds"), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(*value.Strings("ss"), (std::vector<std::string>{"x", ""}));
  EXPECT_EQ(value.Object("o")->Object("k")->size(), 0);
  EXPECT_EQ(value.Array("e")->size(), 0);
  EXPECT_EQ(value.Keys(), (std::vector<std::string>{"s", "i", "u", "d", "t", "f", "z", "is", "ds", "ss", "o", "e"}));
  EXPECT_EQ(*Parsed(R"("a\u0000b")").AsString(), std::string("a\0b", 3));
}

TEST(Json, AKeyIsFoundAmongManyAndOnlyItself) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, i > 0 ? "," : "", "\"key", i, "\":", i);
  const JsonValue value = Parsed(text + "}");
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(*value.Int(absl::StrCat("key", i)), i);
    ASSERT_EQ(*value[i].AsInt(), i);  // In the order of the text.
  }
  for (absl::string_view absent : {"", "key", "key1000", "kez"}) EXPECT_FALSE(value.Has(absent)) << absent;
  EXPECT_TRUE(value.Has("key999"));
  EXPECT_FALSE(Parsed("[1]").Has("0"));
}

TEST(Json, ErrorsNamePathFoundAndExpectedValue) {
  const JsonValue value = Parsed(R"({"messages":[{},{"content":[1]}],"n":1.0})");
  const JsonValue message = (*value.Array("messages"))[1];
  EXPECT_EQ(message.Path(), "messages[1]");
  EXPECT_EQ(message.String("content").status().message(), "test: messages[1].content: found an array, expected a string");
  EXPECT_EQ(message.Strings("content").status().message(), "test: messages[1].content[0]: found 1, expected a string");
  EXPECT_EQ(message.String("role").status(), absl::InvalidArgumentError("test: messages[1].role: found nothing, expected a value"));
  EXPECT_EQ(value.Int("n").status().message(), "test: n: found 1, expected an integer");
  EXPECT_EQ(value.Int("m").status().message(), "test: m: found nothing, expected a value");
  EXPECT_EQ(Parsed("[]").Int("m").status().message(), "test: found an array, expected an object with \"m\"");
}

TEST(Json, NumbersOutsideTheRangeAreErrorsNotOtherNumbers) {
  const JsonValue value = Parsed(R"({"minus":-5,"large":9223372036854775808,"huge":18446744073709551616,
                                     "half":1.5,"text":"5","is":[1,-1]})");
  EXPECT_FALSE(value.Uint("minus").ok());
  EXPECT_FALSE(value.Int("large").ok());
  EXPECT_EQ(*value.Uint("large"), uint64_t{1} << 63);
  EXPECT_FALSE(value.Int("huge").ok());
  EXPECT_FALSE(value.Uint("huge").ok());
  EXPECT_EQ(*value.Double("huge"), 0x1p64);
  EXPECT_FALSE(value.Int("half").ok());
  EXPECT_FALSE(value.Int("text").ok());
  EXPECT_FALSE(value.Double("text").ok());
  EXPECT_FALSE(value.Int("minus", -4).ok());
  EXPECT_FALSE(value.Int("minus", -10, -6).ok());
  EXPECT_EQ(*value.Int("minus", -5, -5), -5);
  EXPECT_EQ(value.Ints("is", 0).status().message(), "test: is[1]: found -1, expected an integer of at least 0");
}

TEST(Json, DefaultsStandForAbsentAndNullButNotForAWrongType) {
  const JsonValue value = Parsed(R"({"null":null,"s":"x","i":3})");
  for (absl::string_view key : {"absent", "null"}) {
    EXPECT_EQ(*value.StringOr(key, "d"), "d");
    EXPECT_EQ(*value.IntOr(key, 7), 7);
    EXPECT_EQ(*value.UintOr(key, 8), 8u);
    EXPECT_EQ(*value.DoubleOr(key, 0.5), 0.5);
    EXPECT_TRUE(*value.BoolOr(key, true));
  }
  EXPECT_EQ(*value.StringOr("s", "d"), "x");
  EXPECT_EQ(*value.IntOr("i", 7), 3);
  EXPECT_TRUE(absl::IsInvalidArgument(value.IntOr("s", 7).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(value.StringOr("i", "d").status()));
  EXPECT_FALSE(Parsed("3").IntOr("i", 7).ok());
}

TEST(Json, AKeyGivenTwiceIsAnErrorAtItsPlace) {
  EXPECT_EQ(ErrorOf("{\"a\":1,\n\"a\":2}"), "test: line 2, byte 11: the key \"a\" a second time");
  EXPECT_NE(ErrorOf(R"({"x":{"a":1,"\u0061":2}})"), "");
  Parsed(R"({"a":{"a":1},"b":{"a":1}})");  // In different objects it is another key.
}

TEST(Json, DepthIsLimited) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  Parsed(nested(JsonValue::kMaxDepth));
  EXPECT_EQ(ErrorOf(nested(JsonValue::kMaxDepth + 1)), "test: line 1, byte 65: nesting deeper than 64 levels");
  EXPECT_NE(ErrorOf(std::string(1'000'000, '[')), "");
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += "{\"a\":";
  EXPECT_NE(ErrorOf(objects).find("deeper"), std::string::npos);
}

TEST(Json, SizeAndNumberOfValuesAreLimited) {
  const absl::Status bytes = JsonValue::Parse("[1,2,3]", "test", {.max_bytes = 6}).status();
  EXPECT_EQ(bytes, absl::ResourceExhaustedError("test: found 7 bytes, expected at most 6"));
  EXPECT_TRUE(JsonValue::Parse("[1,2,3]", "test", {.max_bytes = 7, .max_values = 4}).ok());
  const absl::Status values = JsonValue::Parse("[1,2,3]", "test", {.max_values = 3}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(values)) << values;
}

TEST(Json, InvalidJsonIsAnErrorWithLineAndByte) {
  for (absl::string_view text : {"", " ", "{", "[1,]", "{\"a\"}", "{a:1}", "nul", "01", "+1", ".5", "1.", "NaN", "Infinity", "1e400",
                                 "-", "'a'", "\"", "\"\\x\"", "\"\n\"", "\"\\ud800\"", "\"\\udc00x\"", "\"\xff\"", "\"\xc0\xaf\"",
                                 "\"\xed\xa0\x80\"", "1 2", "{} x", "[1}", "// c\n1", "\xff\xfe"}) {
    const absl::Status status = JsonValue::Parse(text, "test").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
    EXPECT_EQ(status.message().find(text.empty() ? "test: found an empty text" : "test: line "), 0u) << status;
  }
  EXPECT_EQ(ErrorOf("{\n\"a\": x}").find("test: line 2, byte 8: "), 0u) << ErrorOf("{\n\"a\": x}");
}

TEST(Json, ErrorsShowHostileTextShortAndPrintable) {
  const std::string key(100'000, '\x01');
  JsonWriter json;
  json.BeginObject().Key(key).String(key).EndObject();
  const JsonValue value = Parsed(json.text());
  for (const std::string& message : {std::string(value[0].AsInt().status().message()),
                                     std::string(value.Int(key + "x").status().message()),
                                     ErrorOf("\"" + std::string(100'000, 'a'))}) {
    EXPECT_LT(message.size(), 1000u);
    for (char c : message) ASSERT_GE(static_cast<unsigned char>(c), 0x20);
  }
}

TEST(Json, ErrorsShowNoByteThatIsNotUtf8AndNoControl) {
  const JsonValue controls = Parsed("{\"\\u009b1m\": {\"\\u0085\": \"\\u009b\"}}");
  for (const std::string& message : {ErrorOf("[\"\xff\"]"), ErrorOf("[\"\xc2\"]"), ErrorOf("\xfe"), ErrorOf("[\"\xc2\x9b\"x]"),
                                     ErrorOf("{\"\\u009b\":1,\"\\u009b\":2}"), std::string(controls[0][0].AsInt().status().message()),
                                     std::string(controls.Int("\xc2\x9b").status().message())}) {
    EXPECT_EQ(message, Printable(message));
  }
}

TEST(Json, AValueOutlivesItsParent) {
  absl::StatusOr<JsonValue> inner = Parsed(R"({"a":[{"b":"kept"}]})").Array("a");
  ASSERT_TRUE(inner.ok());
  const JsonValue copy = (*inner)[0];
  inner = absl::InternalError("gone");
  EXPECT_EQ(*copy.String("b"), "kept");
}

// A valid text with changes at random places either parses or is an error, and nothing else happens.
TEST(Json, DamagedTextIsAnErrorOrAValue) {
  const std::string good = R"({"a":[1,-2.5e3,"x\u00e4",true,null],"b":{"c":{},"d":"ä"}})";
  SeededRandom random(1);
  int errors = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (int64_t changes = 1 + random.Below(3); changes > 0; --changes) {
      text[random.Below(static_cast<int64_t>(text.size()))] = static_cast<char>(random.Next());
    }
    const absl::StatusOr<JsonValue> value = JsonValue::Parse(text, "test");
    errors += !value.ok();
    if (value.ok()) value->Keys();
  }
  EXPECT_GT(errors, 10'000);
}

TEST(Json, AnElementBeyondTheEndIsACheckFailure) {
  const JsonValue value = Parsed("[1]");
  EXPECT_DEATH(value[1], "element 1 of 1");
  EXPECT_DEATH(value[-1], "element -1 of 1");
}

}  // namespace
}  // namespace tessera
