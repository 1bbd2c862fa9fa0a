#include "tessera/model/files/internal/name_pattern.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

absl::StatusOr<bool> Example() {
  ASSIGN_OR_RETURN(const NamePattern pattern, NamePattern::Parse(".*\\.layers\\.(0|1)\\.self_attn\\.[qv]_proj"));
  return pattern.Matches("model.layers.1.self_attn.q_proj");
}

TEST(NamePattern, HeaderExample) { EXPECT_TRUE(Must(Example())); }

constexpr const char* kNames[] = {"q_proj", "model.layers.0.self_attn.q_proj", "model.layers.1.self_attn.v_proj",
                                  "model.layers.11.mlp.down_proj", "vision.q_proj", "language_model.model.layers.0.self_attn.q_proj",
                                  "x", "xx", "xxy", "y", "xy", "a", "]", "-", "", "x{}", "x{2", "a.b", "b", "[x", "\\"};

// Which of the names each matches, as Python 3.11 printed it:
//   print("".join("1" if re.fullmatch(pattern, name) else "0" for name in names))
struct Row { const char* pattern; const char* matches; };
constexpr Row kRows[] = {
    {R"(q_proj)", "100000000000000000000"},
    {R"(.*q_proj)", "110011000000000000000"},
    {R"(.*\.(q|v)_proj)", "011011000000000000000"},
    {R"(model\.layers\.\d+\.self_attn\.[qv]_proj)", "011000000000000000000"},
    {R"(^model\.layers\.1\..*)", "001000000000000000000"},
    {R"((?!.*vision).*(?:q_proj|v_proj))", "111001000000000000000"},
    {R"(^(?!.*layers\.1\.).*q_proj$)", "110011000000000000000"},
    {R"((?=.*self_attn).*_proj)", "011001000000000000000"},
    {R"(.*layers\.[0-9]{1,2}\..*)", "011101000000000000000"},
    {R"(.*layers\.1{0}0.*)", "010001000000000000000"},
    {R"(.*?\bq_proj\b)", "110011000000000000000"},
    {R"((?:.*?(?:language|text).*?)|(?:\bmodel\.layers\.[\d]{1,}\.(?:self_attn|mlp)\.(?:(?:q_proj|down_proj))))", "010101000000000000000"},
    {R"([]a])", "000000000001100000000"},
    {R"([^]a])", "000000100100010000101"},
    {R"([a-])", "000000000001010000000"},
    {R"([-a])", "000000000001010000000"},
    {R"(x{,2})", "000000110000001000000"},
    {R"(x{})", "000000000000000100000"},
    {R"(x{2)", "000000000000000010000"},
    {R"((?P<n>x)+)", "000000110000000000000"},
    {R"(\_x)", "000000000000000000000"},
    {R"($x)", "000000000000000000000"},
    {R"(x$)", "000000100000000000000"},
    {R"((?:^)*x)", "000000100000000000000"},
    {R"(|x)", "000000100000001000000"},
    {R"((|x)y)", "000000000110000000000"},
    {R"((x*)*y)", "000000001110000000000"},
    {R"(\w+\.\w+)", "000010000000000001000"},
    {R"(\Ax\Z)", "000000100000000000000"},
    {R"(\Bx)", "000000000000000000000"},
    {R"(x\B.)", "000000010010000000000"},
    {R"([\w.]+proj)", "111111000000000000000"},
    {R"((?=x)+x)", "000000100000000000000"},
    {R"((?!(?=y)y)x)", "000000100000000000000"},
    {R"(x{,})", "000000110000001000000"},
    {R"([[a]x)", "000000000000000000010"},
    {R"(a{1}?)", "000000000001000000000"},
    {R"(())", "000000000000001000000"},
    {R"()", "000000000000001000000"},
    {R"(a||b)", "000000000001001000100"},
    {R"([\b])", "000000000000000000000"},
};

TEST(NamePattern, NamesMatchAsInPython) {
  for (const Row& row : kRows) {
    const NamePattern pattern = Must(NamePattern::Parse(row.pattern));
    std::string matches;
    for (const char* const name : kNames) matches += pattern.Matches(name) ? '1' : '0';
    EXPECT_EQ(matches, row.matches) << row.pattern;
  }
}

TEST(NamePattern, InvalidAndUnsupportedPatternsAreNamed) {
  struct Bad { const char* pattern; const char* message; };
  for (const Bad& bad : {
           Bad{"a**", "byte 2: found \"*\", expected one repeat"},
           Bad{"x{2}{3}", "byte 4: found \"{3}\", expected one repeat"},
           Bad{"{2}", "byte 0: found \"{2}\", expected what it repeats before it"},
           Bad{"a|*", "byte 2: found \"*\", expected what it repeats before it"},
           Bad{"^*", "byte 1: found \"^*\", expected something that can be repeated"},
           Bad{"x{3,2}", "byte 1: found \"{3,2}\", expected numbers in order, up to 65536"},
           Bad{"x{99999999999}", "byte 1: found \"{99999999999}\", expected numbers in order, up to 65536"},
           Bad{"x*+", "byte 1: found \"*+\", expected a repeat that gives back: others are not read"},
           Bad{"(a", "byte 0: found \"(\", expected a \")\" for it"},
           Bad{"a)", "byte 1: found \")\", expected the \"(\" before it"},
           Bad{"[a-", "byte 0: found \"[\", expected a \"]\" for it"},
           Bad{"[z-a]", "byte 1: found \"z-a\", expected a range from a byte to one that is not below it"},
           Bad{"[\\d-z]", "byte 1: found \"\\\\d-z\", expected a range from a byte to one that is not below it"},
           Bad{"a(?<!x)q", "byte 1: found \"(?<!\", expected (, (?:, (?P<name>, (?= or (?!"},
           Bad{"(?i)Q", "byte 0: found \"(?i)\", expected (, (?:, (?P<name>, (?= or (?!"},
           Bad{"(?P=n)", "byte 0: found \"(?P=\", expected (, (?:, (?P<name>, (?= or (?!"},
           Bad{"(?P<>x)", "byte 4: found \">x)\", expected a name of letters, and \">\""},
           Bad{"\\1", "byte 0: found \"\\\\1\", expected \\d, \\w, \\s, \\b, their opposites, \\A, \\Z, or \\ and a sign"},
           Bad{"x\\", "byte 1: found \"\\\" at the end, expected what it means behind it"},
           Bad{"\xc3\xa9", "byte 0: found a byte beyond ASCII, expected ASCII, as names of modules are"},
           Bad{"(x{300}){300}", "found repeats of more than 65536 steps, expected less"},
           Bad{"((()*){60000}){60000}", "found repeats of more than 65536 steps, expected less"}}) {
    EXPECT_EQ(NamePattern::Parse(bad.pattern).status(), absl::InvalidArgumentError(bad.message)) << bad.pattern;
  }
  const std::string deep = std::string(65, '(') + std::string(65, ')');
  EXPECT_EQ(NamePattern::Parse(deep).status(), absl::InvalidArgumentError("byte 65: found more groups within groups, expected 64 or less"));
  EXPECT_TRUE(NamePattern::Parse(std::string(64, '(') + std::string(64, ')')).ok());
}

// Any of these would outlast the test where ways are tried one after another.
TEST(NamePattern, NoWayIsTriedTwice) {
  const std::string many(1000, 'a');
  for (const char* const text : {"(a*)*b", "(a|a)*b", "(a|aa)+b", "(.*)*(.*)*(.*)*b", "(a?){500}a{2000}", "(?=(a*)*b).*", "((a?)*)*b"}) {
    EXPECT_FALSE(Must(NamePattern::Parse(text)).Matches(many)) << text;
  }
  EXPECT_TRUE(Must(NamePattern::Parse("(?!(a*)*b)((a*)*)*")).Matches(many));
  std::string looks = "a";
  for (int i = 0; i < 20; ++i) looks = "(?=.*" + looks + ").*a?";
  EXPECT_TRUE(Must(NamePattern::Parse(looks)).Matches(many));
  EXPECT_LE(Must(NamePattern::Parse("(.?){20000}")).steps(), NamePattern::kMostSteps);
}

TEST(NamePattern, BytesBeyondAsciiMatchNothing) {
  EXPECT_FALSE(Must(NamePattern::Parse(".*")).Matches("\xff"));
  EXPECT_FALSE(Must(NamePattern::Parse("[^a]")).Matches("\x80"));
}

}  // namespace
}  // namespace tessera
