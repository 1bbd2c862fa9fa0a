#include "tessera/model/text/internal/template_marks.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/model/text/internal/known_marks.h"

namespace tessera {
namespace {

constexpr size_t kLongestMark = 64;

bool Opens(char c) { return c == '<' || c == '['; }
bool Closes(char c) { return c == '>' || c == ']'; }

// Finds marks. No mark contains another opening bracket, so each byte is read once.
void FindIn(absl::string_view text, TemplateMarks& marks) {
  absl::StrAppend(&marks.written, text, "\n");
  for (const absl::string_view bars : {absl::string_view("<|"), absl::string_view("[|"), absl::string_view("<｜")}) {
    // Behind the bars comes another text, or a text from format() or %.
    const bool open = absl::EndsWith(text, bars) || absl::StrContains(text, absl::StrCat(bars, "{")) ||
                      absl::StrContains(text, absl::StrCat(bars, "%"));
    if (open) marks.composes_bars = true;
  }
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    if (Opens(text[begin])) {
      for (; end < text.size() && end - begin < kLongestMark && !Opens(text[end]) && !absl::ascii_isspace(text[end]); ++end) {
        const absl::string_view mark = text.substr(begin, end + 1 - begin);
        if (Closes(text[end]) && HasBrackets(mark)) marks.texts.emplace_back(mark);
      }
    }
    begin = end;
  }
}

// Finds the strings in a template's code, which ends with `end`. Returns the text behind.
absl::string_view FindInCode(absl::string_view code, absl::string_view end, TemplateMarks& marks) {
  for (size_t at = 0; at < code.size();) {
    if (absl::StartsWith(code.substr(at), end)) return code.substr(at + end.size());
    const char quote = code[at++];
    if (quote != '\'' && quote != '"') continue;
    std::string text;
    for (; at < code.size() && code[at] != quote; ++at) {
      if (code[at] == '\\' && at + 1 < code.size()) text += '\n', ++at;  // An escaped character is no part of a mark.
      else text += code[at];
    }
    FindIn(text, marks);
    ++at;
  }
  return "";
}

}  // namespace

TemplateMarks FindTemplateMarks(absl::string_view source) {
  TemplateMarks marks;
  while (!source.empty()) {
    size_t brace = source.find('{');
    while (brace != absl::string_view::npos && !absl::StrContains("{%#", source.substr(brace + 1, 1))) brace = source.find('{', brace + 1);
    if (brace == absl::string_view::npos || brace + 1 == source.size()) {
      FindIn(source, marks);
      return marks;
    }
    FindIn(source.substr(0, brace), marks);
    const char kind = source[brace + 1];
    source.remove_prefix(brace + 2);
    if (kind == '#') source = source.substr(std::min(source.find("#}"), source.size()));
    else source = FindInCode(source, kind == '{' ? "}}" : "%}", marks);
  }
  return marks;
}

}  // namespace tessera
