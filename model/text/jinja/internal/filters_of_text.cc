// Filters of texts.
#include <algorithm>
#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/compare.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/format.h"
#include "tessera/model/text/jinja/internal/json_text.h"
#include "tessera/model/text/jinja/internal/letter_case.h"
#include "tessera/model/text/jinja/internal/operators.h"
#include "tessera/model/text/jinja/internal/text_functions.h"

namespace tessera::jinja {
namespace {

using Result = absl::StatusOr<Value>;

template <LetterCase wanted>
Result Case(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("a filter of letters", arguments, {}).status());
  ASSIGN_OR_RETURN(const Text text, runtime.Print(input));
  ASSIGN_OR_RETURN(Text cased, Cased(runtime, text, wanted));
  cased.set_safe(text.safe());
  return runtime.New(std::move(cased));
}

Result Trim(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("trim", arguments, {"chars"}));
  ASSIGN_OR_RETURN(const Text text, runtime.Print(input));
  return Stripped(runtime, text, given[0].value_or(Value::None()), true, true);
}

Result String(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("string", arguments, {}).status());
  if (input.is_text()) return input;
  ASSIGN_OR_RETURN(Text text, runtime.Print(input));
  return runtime.New(std::move(text));
}

Result Replace(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("replace", arguments, {"old", "new", "count"}, 2));
  ASSIGN_OR_RETURN(Text text, runtime.Print(input));
  ASSIGN_OR_RETURN(const Text from, runtime.Print(*given[0]));
  ASSIGN_OR_RETURN(const Text to, runtime.Print(*given[1]));
  text.set_safe(false);
  const Value count = given[2].value_or(Value::None());
  if (!count.is_none() && !count.is_integral()) return Fail("replace: found ", TypeName(count), " as count, expected an integer");
  return Replaced(runtime, text, from, to, count.is_none() ? -1 : count.integer());
}

Result Indent(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("indent", arguments, {"width", "first", "blank"}));
  if (!input.is_text()) return Fail("indent: found ", TypeName(input), ", expected text");
  const Value width = given[0].value_or(Value::Int(4));
  const bool first = Truth(given[1].value_or(Value())), blank = Truth(given[2].value_or(Value()));
  if (!width.is_text() && !width.is_integral()) return Fail("indent: found ", TypeName(width), " as width, expected an integer or text");
  ASSIGN_OR_RETURN(const Value indention,
                   width.is_text() ? Result(width) : Arithmetic(runtime, "*", Value::Of(Text(" ", false)), width));
  Text text = input.text();
  RETURN_IF_ERROR(runtime.Charge(text));
  text.Append("\n", false);
  ASSIGN_OR_RETURN(const std::vector<Text> lines, Lines(runtime, text, /*keep_ends=*/false));
  Text out = first ? indention.text() : Text();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.Append("\n", false);
    if (i > 0 && (blank || !lines[i].empty())) out.Append(indention.text());
    RETURN_IF_ERROR(runtime.Bytes(lines[i].held_bytes() + indention.text().held_bytes()));
    out.Append(lines[i]);
  }
  out.set_safe(input.text().safe());
  return Value::Of(std::move(out));
}

Result FormatFilter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const Text text, runtime.Print(input));
  if (!arguments.named.empty() && !arguments.positional.empty())
    return Fail("format: found values with and without names, expected one kind");
  if (arguments.named.empty()) return Format(runtime, text, arguments.positional, Value());
  Mapping named;
  for (const auto& [name, value] : arguments.named) named.Set(Value::Of(name), value);
  const Value dict = Value::Of(std::move(named));
  return Format(runtime, text, {dict}, dict);
}

Result Safe(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("safe", arguments, {}).status());
  ASSIGN_OR_RETURN(Text text, runtime.Print(input));
  text.set_safe(true);
  return runtime.New(std::move(text));
}

Result Escape(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("escape", arguments, {}).status());
  if (input.is_text() && input.text().safe()) return input;
  ASSIGN_OR_RETURN(const Text text, runtime.Print(input));
  ASSIGN_OR_RETURN(Text escaped, EscapedHtml(runtime, text));
  return runtime.New(std::move(escaped));
}

Result Center(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("center", arguments, {"width"}));
  ASSIGN_OR_RETURN(const Text text, runtime.Print(input));
  Arguments width;
  width.positional.push_back(given[0].value_or(Value::Int(80)));
  return Centered(runtime, Value::Of(text), width);
}

Result WordCount(Runtime& runtime, const Value& input, const Arguments& arguments) {
  RETURN_IF_ERROR(Bind("wordcount", arguments, {}).status());
  ASSIGN_OR_RETURN(const Text text, runtime.Print(input));
  if (std::any_of(text.bytes().begin(), text.bytes().end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
    return Fail("wordcount: found characters beyond ASCII, which are not supported");
  }
  int64_t words = 0;
  bool within = false;
  for (const char character : text.bytes()) {
    const bool word = std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
    words += word && !within ? 1 : 0;
    within = word;
  }
  return Value::Int(words);
}

Result ToJson(Runtime& runtime, const Value& input, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto given, Bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ascii = Truth(given[0].value_or(Value()));
  style.sort_keys = Truth(given[3].value_or(Value()));
  if (const Value indent = given[1].value_or(Value::None()); indent.is_text()) {
    style.indent = indent.text();
  } else if (indent.is_integral()) {
    ASSIGN_OR_RETURN(const Value spaces, Arithmetic(runtime, "*", Value::Of(Text(" ", false)), indent));
    style.indent = spaces.text();
  } else if (!indent.is_none()) {
    return Fail("tojson: found ", TypeName(indent), " as indent, expected an integer or text");
  }
  if (const Value separators = given[2].value_or(Value::None()); !separators.is_none()) {
    ASSIGN_OR_RETURN(const std::vector<Value> two, runtime.Elements(separators));
    if (two.size() != 2 || !two[0].is_text() || !two[1].is_text()) return Fail("tojson: found separators other than two texts");
    style.item_separator = two[0].text();
    style.key_separator = two[1].text();
  }
  ASSIGN_OR_RETURN(Text text, JsonText(runtime, input, style));
  return Value::Of(std::move(text));
}

constexpr NamedFilter kFilters[] = {
    {"capitalize", Case<LetterCase::kCapitalized>}, {"center", Center},   {"e", Escape},       {"escape", Escape},
    {"format", FormatFilter},                       {"indent", Indent},   {"lower", Case<LetterCase::kLower>},
    {"replace", Replace},                           {"safe", Safe},       {"string", String},  {"title", Case<LetterCase::kTitle>},
    {"tojson", ToJson},                             {"trim", Trim},       {"upper", Case<LetterCase::kUpper>},
    {"wordcount", WordCount},
};

}  // namespace

absl::Span<const NamedFilter> TextFilters() { return kFilters; }

}  // namespace tessera::jinja
