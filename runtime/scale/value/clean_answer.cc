// CleanAnswer: an answer without what says nothing about its value.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "tessera/runtime/scale/value/same_answer.h"

namespace tessera {
namespace {

using Replacements = std::vector<std::pair<absl::string_view, absl::string_view>>;

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsLetter(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }

// Signs that go, and names that mean the same. A pair of backslashes is the end of a matrix's row, whatever follows it.
std::string WithPlainSigns(absl::string_view text) {
  static const auto* const replacements = new Replacements{
      {"\\\\", "\\\\"}, {"\\left", ""}, {"\\right", ""}, {"\\bigcup", "\\cup"}, {"\\big", ""}, {"\\Big", ""}, {"\\displaystyle", ""},
      {"\\!", ""}, {"\\,", " "}, {"\\;", " "}, {"\\:", " "}, {"\\ ", " "}, {"\\quad", " "}, {"~", " "}, {"\n", " "}, {"\t", " "},
      {"\\dfrac", "\\frac"}, {"\\tfrac", "\\frac"}, {"\\cfrac", "\\frac"}, {"{,}", ""},
      {"^{\\circ}", ""}, {"^\\circ", ""}, {"\\degree", ""}, {"\xC2\xB0", ""}, {"\\%", ""}, {"%", ""}, {"\\$", ""}, {"$", ""},
      {"\\(", ""}, {"\\)", ""}, {"\\[", ""}, {"\\]", ""},
      {"\\mathrm", "\\text"}, {"\\mathbf", "\\text"}, {"\\textbf", "\\text"}, {"\\textrm", "\\text"}, {"\\mbox", "\\text"},
      {"\xE2\x88\x92", "-"}, {"\xC3\x97", "\\times "}, {"\xC2\xB7", "\\cdot "}, {"\xCF\x80", "\\pi "}, {"\xE2\x88\x9A", "\\sqrt "},
      {"\xE2\x88\x9E", "\\infty "}, {"\xC2\xB1", "\\pm "}, {"\xE2\x88\xAA", "\\cup "}};
  return absl::StrReplaceAll(text, *replacements);
}

// The place after the bracket that closes the one at `open`; none if there is none.
std::optional<size_t> EndOfBraces(absl::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '{';
    depth -= text[i] == '}';
    if (depth == 0) return i + 1;
  }
  return std::nullopt;
}

// True for "", "^2" and "^{3}".
bool IsPowerOrNothing(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!absl::ConsumePrefix(&text, "^")) return text.empty();
  return std::all_of(text.begin(), text.end(), [](char c) { return IsDigit(c) || c == '{' || c == '}'; });
}

// "\text{...}" is what it says; behind something, at the end, it is a unit.
std::string WithoutTextCommands(std::string text) {
  const std::string command = "\\text";
  for (size_t at = text.find(command); at != std::string::npos; at = text.find(command, at)) {
    const size_t open = text.find_first_not_of(' ', at + command.size());
    if (open == std::string::npos || text[open] != '{') {
      at += command.size();
      continue;
    }
    const std::optional<size_t> end = EndOfBraces(text, open);
    if (!end.has_value()) return text;
    const std::string content = text.substr(open + 1, *end - open - 2);
    const absl::string_view word = absl::StripAsciiWhitespace(content);
    const bool is_unit = IsPowerOrNothing(absl::string_view(text).substr(*end)) && !absl::StripAsciiWhitespace(text.substr(0, at)).empty();
    if (is_unit) return text.substr(0, at);
    text.replace(at, *end - at, word == "and" || word == "or" ? std::string(",") : content);
  }
  return text;
}

// "18 eggs", "5 cm^2": a number and words.
absl::string_view WithoutUnit(absl::string_view text) {
  const auto is_number = [](char c) { return IsDigit(c) || c == '.' || c == ',' || c == '/' || c == '-'; };
  const auto number_end = std::find_if_not(text.begin(), text.end(), is_number);
  const size_t size = static_cast<size_t>(number_end - text.begin());
  const absl::string_view words = absl::StripLeadingAsciiWhitespace(text.substr(size));
  if (size == 0 || words.size() + size == text.size()) return text;   // No number, or no space behind it.
  const auto word_end = std::find_if_not(words.begin(), words.end(), IsLetter);
  const absl::string_view word = words.substr(0, static_cast<size_t>(word_end - words.begin()));
  char before = ' ';
  const bool only_words = std::all_of(words.begin(), words.end(), [&](char c) {
    const bool power = IsDigit(c) && (before == '^' || before == '{');
    before = c;
    return IsLetter(c) || power || c == ' ' || c == '^' || c == '{' || c == '}' || c == '/' || c == '.';
  });
  return word.size() < 2 || word == "pi" || !only_words ? text : text.substr(0, size);
}

// "x = 5", "x \in [0, 1]": a name of at most two letters before its value.
absl::string_view WithoutName(absl::string_view text) {
  for (const absl::string_view sign : {"=", "\\in "}) {
    const size_t at = text.find(sign);
    if (at == absl::string_view::npos || text.find(sign, at + 1) != absl::string_view::npos) continue;
    const absl::string_view name = absl::StripAsciiWhitespace(text.substr(0, at));
    if (!name.empty() && name.size() <= 2 && std::all_of(name.begin(), name.end(), IsLetter)) return text.substr(at + sign.size());
  }
  return text;
}

// True at the comma of "27,720": three digits follow, and then none.
bool SeparatesThousands(absl::string_view text, size_t comma, size_t digits_before) {
  if (digits_before == 0 || digits_before > 3 || text.size() < comma + 4) return false;
  for (size_t i = comma + 1; i < comma + 4; ++i) {
    if (!IsDigit(text[i])) return false;
  }
  return comma + 4 == text.size() || !IsDigit(text[comma + 4]);
}

// Without thousands' commas, but for those in brackets.
std::string WithoutThousands(absl::string_view text) {
  std::string result;
  int depth = 0;
  size_t digits = 0;   // How many came just before, in a number that began with at most three.
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    if (c == ',' && depth == 0 && SeparatesThousands(text, i, digits)) {
      digits = 0;
      continue;
    }
    digits = IsDigit(c) ? digits + 1 : c == '.' ? 4 : 0;   // Behind a point there are none.
    result.push_back(c);
  }
  return result;
}

std::string WithCommasForWords(absl::string_view text) { return absl::StrReplaceAll(text, {{" and ", ", "}, {" or ", ", "}}); }

}  // namespace

std::string CleanAnswer(absl::string_view answer) {
  std::string text = WithoutTextCommands(WithPlainSigns(answer));
  text = WithCommasForWords(text);
  absl::string_view rest = absl::StripAsciiWhitespace(text);
  while (rest.size() > 1 && (rest.back() == '.' || rest.back() == ',' || rest.back() == ';' || rest.back() == ':')) {
    rest = absl::StripAsciiWhitespace(rest.substr(0, rest.size() - 1));
  }
  rest = absl::StripAsciiWhitespace(WithoutName(rest));
  return WithoutThousands(absl::StripAsciiWhitespace(WithoutUnit(rest)));
}

}  // namespace tessera
