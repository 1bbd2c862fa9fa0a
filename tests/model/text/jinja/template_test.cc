#include "tessera/model/text/jinja/template.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera::jinja {
namespace {

absl::StatusOr<std::vector<Piece>> Pieces(absl::string_view source, const Variables& variables = {}, const RenderOptions& options = {}) {
  ASSIGN_OR_RETURN(const Template parsed, Template::Parse(source));
  return parsed.Render(variables, options);
}

// The text, or the error's words.
std::string Rendered(absl::string_view source, const Variables& variables = {}, const RenderOptions& options = {}) {
  const auto pieces = Pieces(source, variables, options);
  if (!pieces.ok()) return std::string(pieces.status().message());
  std::string text;
  for (const Piece& piece : *pieces) text += piece.text;
  return text;
}

// The text with what came from the variables in brackets.
std::string Marked(absl::string_view source, const Variables& variables) {
  const auto pieces = Pieces(source, variables);
  EXPECT_TRUE(pieces.ok()) << pieces.status();
  std::string text;
  for (const Piece& piece : pieces.ok() ? *pieces : std::vector<Piece>())
    absl::StrAppend(&text, piece.from_data ? "[" + piece.text + "]" : piece.text);
  return text;
}

std::string Repeated(absl::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) absl::StrAppend(&all, text);
  return all;
}

TEST(Template, HeaderExample) {
  const Value messages = Value::List({Value::Dict({{"role", Value::String("user")}, {"content", Value::String("Hello")}})});
  const auto example = [&](std::vector<Piece>* out) -> absl::Status {
    ASSIGN_OR_RETURN(const jinja::Template parsed,
                     jinja::Template::Parse("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"));
    ASSIGN_OR_RETURN(const std::vector<jinja::Piece> pieces, parsed.Render({{"messages", messages}}, {}));
    *out = pieces;
    return absl::OkStatus();
  };
  std::vector<Piece> pieces;
  ASSERT_TRUE(example(&pieces).ok());
  ASSERT_EQ(pieces.size(), 4);
  EXPECT_EQ(pieces[0].text, "<|");
  EXPECT_EQ(pieces[1].text, "user");
  EXPECT_TRUE(pieces[1].from_data);
  EXPECT_FALSE(pieces[2].from_data);
}

TEST(Template, EachByteKnowsItsOrigin) {
  const Variables given = {{"m", Value::String("ab <|x|>")}, {"d", Value::Dict({{"k", Value::String("v")}})}};
  EXPECT_EQ(Marked("<{{ m }}>", given), "<[ab <|x|>]>");
  EXPECT_EQ(Marked("{{ '<' + m|upper + '>' }}", given), "<[AB <|X|>]>");
  EXPECT_EQ(Marked("{{ m|replace('b', '-') }}", given), "[a]-[ <|x|>]");
  EXPECT_EQ(Marked("{{ 'x-y'|replace('-', m) }}", given), "x[ab <|x|>]y");
  EXPECT_EQ(Marked("{{ m.split('|')|join('+') }}", given), "[ab <]+[x]+[>]");
  EXPECT_EQ(Marked("{{ d|tojson }}{{ d }}", given), "{\"[k]\": \"[v]\"}{'[k]': '[v]'}");
  EXPECT_EQ(Marked("{{ '%s:%d' % (m[:2], 3) }}{{ '{}'.format(m[3:]) }}", given), "[ab]:3[<|x|>]");
  EXPECT_EQ(Marked("{% set b %}<{{ m[0] }}>{% endset %}{{ b }}{% macro f(x) %}({{ x }}){% endmacro %}{{ f(d.k) }}", given), "<[a]>([v])");
  EXPECT_EQ(Marked("{% for c in m[:2] %}{{ c }}-{% endfor %}{% for k in d %}{{ k }}{% endfor %}", given), "[a]-[b]-[k]");
  EXPECT_EQ(Marked("{{ m|length }}{{ m == 'ab <|x|>' }}", given), "8True");
}

// Keys and formats come from the data, too, and no way through names of arguments or dates hides it.
TEST(Template, NamesAndFormatsFromTheDataStayData) {
  const Variables given = {{"d", Value::Dict({{"<|x|>", Value::String("v")}})}, {"f", Value::String("<|%Y|>%%")}};
  EXPECT_EQ(Marked("{% macro f() %}{{ kwargs }}{% endmacro %}{{ f(a='-', **d) }}", given), "{'a': '-', '[<|x|>]': '[v]'}");
  EXPECT_EQ(Marked("{% macro f() %}{% for k in kwargs %}{{ k }}{% endfor %}{% endmacro %}{{ f(**d) }}", given), "[<|x|>]");
  EXPECT_EQ(Marked("{% for k in dict(**d) %}{{ k }}{% endfor %}{% for k in dict(d) %}{{ k }}{% endfor %}", given), "[<|x|><|x|>]");
  EXPECT_EQ(Marked("{{ namespace(**d) }}{{ namespace(d) }}", given), "<Namespace {'[<|x|>]': '[v]'}><Namespace {'[<|x|>]': '[v]'}>");
  EXPECT_EQ(Marked("{{ dict(d, a=1)|tojson }}{{ dict(d.items()) }}", given), "{\"[<|x|>]\": \"[v]\", \"a\": 1}{'[<|x|>]': '[v]'}");
  const auto parsed = Template::Parse("{{ strftime_now(f) }}{{ strftime_now('<%Y' + f[:2]) }}");
  ASSERT_TRUE(parsed.ok());
  const auto pieces = parsed->Render(given, {.unix_seconds = 1764072000});
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  std::string text;
  for (const Piece& piece : *pieces) absl::StrAppend(&text, piece.from_data ? "[" + piece.text + "]" : piece.text);
  EXPECT_EQ(text, "[<|2025|>%]<2025[<|]");
}

TEST(Template, ErrorsNameTheLineAndTheMistake) {
  EXPECT_EQ(Rendered("{{ [].startswith('a') }}"), "line 1: \"startswith\" of a list is undefined, expected something to call");
  EXPECT_EQ(Rendered("{{ {}[[]].y }}"), "line 1: an element of a dict is undefined, expected something with \"y\"");
  EXPECT_EQ(Rendered("a\n{{ x.y.z }}"), "line 2: x is undefined, expected something with \"y\"");
  EXPECT_EQ(Rendered("\n\n{{ 1 + }}"), "line 3: found }}, expected an expression");
  EXPECT_EQ(Rendered("{% if x %}"), "line 1: found the end of the template, expected {% endif %}");
  EXPECT_EQ(Rendered("{% include 'x' %}"), "line 1: found \"include\", expected a block that chat templates use");
  EXPECT_EQ(Rendered("\n{{ 1|nope }}"), "line 2: found the filter \"nope\", expected one that chat templates use");
  EXPECT_EQ(Rendered("{{ raise_exception('Roles must alternate') }}"), "line 1: the template refuses the messages: Roles must alternate");
  EXPECT_EQ(Rendered("{{ 9223372036854775807 + 1 }}"), "line 1: found an integer beyond 64 bits, expected a smaller one");
  for (const char* literal : {"9223372036854775808", "18446744073709551617", "0x10000000000000000"}) {
    EXPECT_EQ(Rendered(absl::StrCat("{{ ", literal, " }}")), "line 1: found an integer beyond 64 bits");
  }
  EXPECT_EQ(Rendered("\xff"), "found a byte at 0 that is no UTF-8, expected UTF-8");
  // Where it is not reached, an unknown filter within `if` is no error.
  EXPECT_EQ(Rendered("{% if false %}{{ 1|nope }}{% endif %}ok"), "ok");
}

TEST(Template, AnExpensiveTemplateIsRefusedSoon) {
  const auto refuses = [](const std::string& source, const std::string& word) {
    const auto pieces = Pieces(source);
    EXPECT_EQ(pieces.status().code(), absl::StatusCode::kResourceExhausted) << pieces.status() << source.substr(0, 60);
    EXPECT_TRUE(absl::StrContains(pieces.status().message(), word)) << pieces.status();
  };
  refuses("{{ " + Repeated("(", 6000) + "1" + Repeated(")", 6000) + " }}", "64 levels");
  refuses("{{ " + Repeated("[", 6000) + Repeated("]", 6000) + " }}", "64 levels");
  refuses("{{ " + Repeated("not ", 6000) + "1 }}", "64 levels");
  refuses("{{ " + Repeated("-", 6000) + "1 }}", "64 levels");
  refuses("{{ x" + Repeated(".y", 6000) + " }}", "levels");
  refuses("{{ x" + Repeated("|trim", 6000) + " }}", "levels");
  refuses(Repeated("{% if x %}", 6000), "64 levels");
  refuses("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "64 calls");
  refuses("{% set ns = namespace(s='ab') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}", "bytes of text");
  refuses("{{ 'a' * 999999999999 }}", "bytes of text");
  refuses("{{ [1, 2] * 9223372036854775807 }}", "steps");
  refuses("{{ 'x'.center(6148914691236517207, '\u20ac') }}", "bytes of text");
  refuses("{{ range(10**9) }}", "100000 integers");
  refuses("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "takes more than");  // Steps, or time.
  refuses("{% set ns = namespace(l=[1]) %}{% for i in range(200) %}{% set ns.l = [ns.l] %}{% endfor %}", "128 lists");
  refuses("{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}", "values in one list");
  refuses("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}", "calls in each other");
  refuses("{% for i in range(9999) %}" + Repeated("x", 10000) + "{% endfor %}", "bytes");
}

// What is made when it is asked for may be made of such, and so on; a list may hold a method of a list.
TEST(Template, NoChainIsDeeperThanTheStack) {
  for (const char* step : {"ns.x|map('upper')", "ns.x|select", "ns.x|reject('none')", "ns.x|unique"}) {
    const std::string words =
        Rendered(absl::StrCat("{% set ns = namespace(x=['a']) %}{% for i in range(90000) %}{% set ns.x = ", step,
                              " %}{% endfor %}{{ ns.x|list }}"));
    EXPECT_TRUE(absl::StrContains(words, "levels of evaluation")) << step << words;
  }
  EXPECT_EQ(Rendered("{% set ns = namespace(x=['a']) %}{% for i in range(90) %}{% set ns.x = ns.x|map('upper') %}{% endfor %}"
                     "{{ ns.x|list }}"), "['A']");
  for (const char* step : {"[ns.x.count]", "(ns.x.index, 1)", "{'a': [ns.x.copy]}"}) {
    const std::string words = Rendered(
        absl::StrCat("{% set ns = namespace(x=['a']) %}{% for i in range(90000) %}{% set ns.x = ", step, " %}{% endfor %}"));
    EXPECT_TRUE(absl::StrContains(words, "line 1: found ")) << step << words;
  }
}

// Each of these would take minutes, or gigabytes, if its work were not counted as it is done.
TEST(Template, WorkIsCountedDuringExecution) {
  class Frozen : public Clock {
   public:
    int64_t NowNanos() const override { return 0; }
  };
  const Frozen clock;  // So that steps and bytes are what ends them.
  const std::string big = "{% set a = 'a' * 8000000 %}";
  const std::string forever = "{% for i in range(100000) %}{% for j in range(100000) %}";
  const std::vector<std::string> sources = {
           "{% set ns = namespace() %}" + big + forever + "{% set ns.x = a|upper %}",
           big + forever + "{% set x = a is upper %}", big + forever + "{% set x = a|trim('b') %}",
           "{% set a = ' ' * 8000000 %}" + forever + "{% set x = a|trim %}", big + forever + "{% set x = a.isspace() %}",
           big + forever + "{% set x = a.isalpha() %}", big + forever + "{% set x = a|wordcount %}",
           big + forever + "{% set x = a|count %}", big + forever + "{% set x = 'b' in a %}", big + forever + "{% set x = a.count('b') %}",
           big + forever + "{% set x = a.rfind('b') %}", big + forever + "{% set x = a.startswith(a) %}",
           big + forever + "{% set x = a[7000000] %}", big + forever + "{% set x = a[-7000000] %}", big + forever + "{{ loop.changed(a) }}",
           "{% set a = '\\n' * 50000000 %}{{ a.splitlines()|length }}", "{% set a = 'a,' * 50000000 %}{{ a.split(',')|length }}",
           "{% set a = 'a ' * 50000000 %}{{ a.split()|length }}", "{{ ('a' * 50000000)|list|length }}",
           "{{ ('\\n' * 50000000)|string ~ [('\\n' * 90000000)] }}",
           "{{ ('<' * 90000000)|e|length }}", "{{ ('\\n' * 90000000)|tojson|length }}",
           forever + "{% set x = '{}' * 100000 %}{{ x.format(*range(100000))|length }}"};
  const size_t every = kSanitized ? 6 : 1;  // Each goes on to its limit, which takes seconds there.
  // Work that is not counted would take hours: nothing but the counts ends these.
  for (size_t i = 0; i < sources.size(); i += every) {
    const std::string whole = sources[i] + (absl::StrContains(sources[i], "{% for") ? "{% endfor %}{% endfor %}" : "");
    const std::string words = Rendered(whole, {}, {.clock = &clock});
    EXPECT_TRUE(absl::StrContains(words, "found a template that takes more than")) << sources[i] << words.substr(0, 200);
  }
}

TEST(Template, SearchesAndKeysTakeTimeThatGrowsWithTheirSize) {
  const std::string texts = "{% set a = 'a' * 200000 %}{% set b = 'a' * 100000 + 'b' %}{% set c = 'b' + 'a' * 100000 %}";
  EXPECT_EQ(Rendered(texts + "{{ b in a }}{{ a.count(b) }}{{ a.find(b) }}{{ a.rfind(c) }}{{ a.split(b)|length }}{{ a.rsplit(c)|length }}"
                             "{{ a|replace(b, '')|length }}"), "False0-1-111200000");
  EXPECT_EQ(Rendered("{% set l = namespace(x=[]) %}{% for i in range(600) %}{% set l.x = l.x + [(i, i), (i + 0.5, 1), ((i, 1), 2)] %}"
                     "{% endfor %}{% set d = dict(l.x) %}{{ d|length }} {{ d[599.0] }} {{ d[2.5] }} {{ d[(7, 1)] }} {{ 600 in d }} "
                     "{{ d[true] }}"),
            "1800 599 1 2 False 1");
  EXPECT_EQ(Rendered("{% set d = dict([(1, 'a'), (1.0, 'b'), (true, 'c'), (none, 'd')]) %}{{ d }}"), "{1: 'c', None: 'd'}");
  EXPECT_EQ(Rendered("{{ 'a\u20acb'[1] }}{{ 'a\u20acb'[-2] }}{{ 'ab'[-2] }}{{ 'ab'[-3] }}{{ 'ab'[2] }}{{ ''|first }}{{ 'xy'|last }}"),
            "\u20ac\u20acay");
}

TEST(Template, PythonFeaturesThatAreMissingAreNeverIgnored) {
  EXPECT_EQ(Rendered("{{ d.update }}|{{ d['update'] }}|{{ d.update is defined }}|{{ d.pop }}",
                     {{"d", Value::Dict({{"update", Value::String("x")}, {"pop", Value::String("y")}})}}), "|x|False|");
  EXPECT_EQ(Rendered("\n{{ d.update({}) }}", {{"d", Value::Dict({})}}),
            "line 2: the method update, which would change a dict, is undefined, expected something to call");
  EXPECT_EQ(Rendered("{{ '%.200f' % 0.1 }}").size(), 202u);
  EXPECT_EQ(Rendered("{{ '%.60f' % 0.1 }}"), "0.100000000000000005551115123125782702118158340454101562500000");
  EXPECT_EQ(Rendered("{{ '%d' % 9223372036854775807 }}"), "9223372036854775807");
  for (const char* source : {"{{ '%d' % 1e19 }}", "{{ '%d' % ('nan'|float) }}", "{{ 1e19|int }}", "{{ '%.2000f' % 1 }}",
                             "{{ {('nan'|float): 1} }}",
                             "{{ d.fromkeys([1]) }}", "{{ range(3).start }}", "{% macro f() %}{% endmacro %}{{ f.name }}"}) {
    EXPECT_TRUE(absl::StartsWith(Rendered(source, {{"d", Value::Dict({})}}), "line 1: ")) << source;
  }
}

// Macros that call each other within lists take the stack that they may, and no more.
TEST(Template, TheDeepestEvaluationFitsTheStack) {
  const std::string inner = Repeated("[", 30) + "f(n - 1) if n > 0" + Repeated("]", 30);
  const std::string source = "{% macro f(n) %}" + Repeated("{% if 1 %}", 20) + "{{ " + inner + " }}" + Repeated("{% endif %}", 20) +
                             "{% endmacro %}{{ f(60) }}";
  EXPECT_TRUE(absl::StrContains(Rendered(source), "levels of evaluation")) << Rendered(source);
}

TEST(Template, LongChainsAreNotDeep) {
  EXPECT_EQ(Rendered("{{ 0" + Repeated(" + 1", 5000) + " }}"), "5000");
  EXPECT_EQ(Rendered("{{ ''" + Repeated(" ~ 'a'", 3000) + " }}"), Repeated("a", 3000));
  EXPECT_EQ(Rendered("{% if 0 %}a" + Repeated("{% elif 0 %}b", 3000) + "{% else %}c{% endif %}"), "c");
}

TEST(Template, TimeIsMeasuredByTheClockThatIsGiven) {
  class Steady : public Clock {
   public:
    int64_t NowNanos() const override { return now_ += 1'000'000; }
    mutable int64_t now_ = 0;
  };
  const Steady clock;
  const std::string words = Rendered("{% for a in range(99999) %}{{ a }}{% endfor %}", {}, {.max_nanos = 5'000'000, .clock = &clock});
  EXPECT_TRUE(absl::StrContains(words, "nanoseconds")) << words;
}

TEST(Template, RenderingsWithOneWorkShareItsLimits) {
  const auto parsed = Template::Parse("{% for a in range(1000) %}{% endfor %}");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  RenderWork work;
  int renderings = 0;
  absl::Status status;
  while (status.ok() && renderings < 100) {
    status = parsed->Render({}, {.max_steps = 20'000, .work = &work}).status();
    ++renderings;
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_GT(renderings, 2);
  EXPECT_LT(renderings, 21) << "each takes 1,000 steps at least";
  EXPECT_TRUE(parsed->Render({}, {.max_steps = 20'000}).ok()) << "alone";
}

TEST(Template, RenderingsWithOneWorkShareItsTime) {
  class Steady : public Clock {
   public:
    int64_t NowNanos() const override { return now_ += 1'000'000; }
    mutable int64_t now_ = 0;
  };
  const Steady clock;
  const auto parsed = Template::Parse("{% for a in range(9000) %}{% endfor %}");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  RenderWork work;
  absl::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    status = parsed->Render({}, {.max_nanos = 50'000'000, .clock = &clock, .work = &work}).status();
  }
  EXPECT_TRUE(absl::StrContains(status.message(), "nanoseconds")) << status;
  EXPECT_LT(clock.now_, 200'000'000);
}

TEST(Template, TheDateIsTheOneThatIsGiven) {
  EXPECT_EQ(Rendered("{{ strftime_now('%Y') }}", {}, {.unix_seconds = 1764072000}), "2025");
  EXPECT_EQ(Rendered("{{ strftime_now('%-d %B') }}", {}, {.unix_seconds = 1764936000}), "5 December");
  EXPECT_EQ(Rendered("{{ strftime_now('%Q') }}", {}, {.unix_seconds = 0}),
            "line 1: strftime_now: found the format %Q, of which a part is not supported");
  EXPECT_EQ(Rendered("{{ strftime_now('%Y') }}"), "line 1: strftime_now: found no date, expected one to be given");
}

TEST(Template, NamesTheVariablesThatTheTemplateReads) {
  const auto parsed = Template::Parse(
      "{% for m in messages %}{% if tools is defined %}{{ m.x }}{% set y = enable_thinking %}{{ y }}{% endif %}{% endfor %}");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->names(), (std::vector<std::string>{"enable_thinking", "messages", "tools"}));
}

TEST(Template, IntegersOfJsonAreExactOrRefused) {
  const auto value = [](absl::string_view json) { return Value::FromJson(*JsonValue::Parse(json)); };
  EXPECT_EQ(value("9223372036854775807")->integer(), INT64_MAX);
  EXPECT_FALSE(value("9223372036854775808").ok());
  EXPECT_FALSE(value("123456789012345678901234567890").ok());
  EXPECT_EQ(value("0.5")->number(), 0.5);
}

}  // namespace
}  // namespace tessera::jinja
