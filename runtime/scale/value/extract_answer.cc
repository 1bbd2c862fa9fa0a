#include "tessera/runtime/scale/value/extract_answer.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/runtime/scale/value/last_boxed.h"

namespace tessera {
namespace {

constexpr absl::string_view kNone;

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

bool DigitAt(absl::string_view text, size_t at) { return at < text.size() && IsDigit(text[at]); }

// True at the comma of "27,720".
bool GroupAt(absl::string_view text, size_t comma) {
  return comma < text.size() && text[comma] == ',' && DigitAt(text, comma + 1) && DigitAt(text, comma + 2) && DigitAt(text, comma + 3) &&
         !DigitAt(text, comma + 4);
}

// Whether the number at `begin` has a minus before it, perhaps with a dollar sign between.
bool IsNegative(absl::string_view text, size_t begin) {
  if (begin > 0 && text[begin - 1] == '$') --begin;
  if (begin == 0 || text[begin - 1] != '-') return false;
  if (begin == 1) return true;
  const char before = text[begin - 2];
  return !absl::ascii_isalnum(static_cast<unsigned char>(before)) && before != ')' && before != ']' && before != '}';
}

// Reads the number at `at`, where a digit or a point stands, and moves behind it.
std::string NumberAt(absl::string_view text, size_t& at) {
  std::string number = IsNegative(text, at) ? "-" : "";
  bool point = false, under = false;
  for (; at < text.size(); ++at) {
    if (IsDigit(text[at])) {
      number.push_back(text[at]);
    } else if (text[at] == '.' && !point && !under && DigitAt(text, at + 1)) {
      point = true;
      number.push_back('.');
    } else if (text[at] == '/' && !point && !under && DigitAt(text, at + 1)) {
      under = true;
      number.push_back('/');
    } else if (point || under || !GroupAt(text, at)) {
      break;
    }
  }
  return number;
}

std::optional<std::string> LastNumber(absl::string_view text) {
  std::vector<std::string> numbers = NumbersIn(text);
  if (numbers.empty()) return std::nullopt;
  return std::move(numbers.back());
}

std::optional<std::string> FirstNumber(absl::string_view text) {
  std::vector<std::string> numbers = NumbersIn(text);
  if (numbers.empty()) return std::nullopt;
  return std::move(numbers.front());
}

absl::string_view LineFrom(absl::string_view text, size_t at) { return text.substr(at, text.substr(at).find('\n')); }

// The text behind the last of these, in any case.
absl::string_view Behind(absl::string_view text, absl::string_view words) {
  const std::string lower = absl::AsciiStrToLower(text);
  const size_t at = absl::string_view(lower).rfind(words);
  return at == absl::string_view::npos ? kNone : text.substr(at + words.size());
}

// The last line that begins with `mark`, without it.
absl::string_view LastLineWith(absl::string_view text, absl::string_view mark) {
  absl::string_view found;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripLeadingAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, mark)) found = line;
  }
  return found;
}

// "The answer is: $5$. More words." is "$5$".
std::string SentenceOf(absl::string_view text) {
  text = LineFrom(text, 0);
  absl::ConsumePrefix(&text, ":");
  const size_t stop = text.find(". ");
  text = absl::StripAsciiWhitespace(text.substr(0, stop));
  absl::ConsumeSuffix(&text, ".");
  return std::string(text);
}

}  // namespace

std::vector<std::string> NumbersIn(absl::string_view text) {
  std::vector<std::string> numbers;
  for (size_t at = 0; at < text.size();) {
    if (IsDigit(text[at]) || (text[at] == '.' && DigitAt(text, at + 1))) {
      numbers.push_back(NumberAt(text, at));
    } else {
      ++at;
    }
  }
  return numbers;
}

std::optional<std::string> ExtractNumber(absl::string_view text) {
  if (const size_t mark = text.rfind("####"); mark != absl::string_view::npos) {
    if (std::optional<std::string> number = FirstNumber(LineFrom(text, mark))) return number;
  }
  if (const std::optional<std::string> boxed = LastBoxed(text); boxed.has_value()) {
    if (std::optional<std::string> number = LastNumber(*boxed)) return number;
  }
  for (const absl::string_view place : {Behind(text, "answer is"), LastLineWith(text, "A:")}) {
    if (std::optional<std::string> number = FirstNumber(LineFrom(place, 0))) return number;
  }
  return LastNumber(text);
}

std::optional<std::string> ExtractFormula(absl::string_view text) {
  if (std::optional<std::string> boxed = LastBoxed(text)) return boxed;
  std::string sentence = SentenceOf(Behind(text, "answer is"));
  if (!sentence.empty()) return sentence;
  return LastNumber(text);
}

std::string ExtractCode(absl::string_view text) {
  constexpr absl::string_view kFence = "```";
  std::optional<absl::string_view> chosen;
  size_t open = text.find(kFence);
  while (open != absl::string_view::npos) {
    const size_t line_end = text.find('\n', open);   // The fence's line names a language.
    if (line_end == absl::string_view::npos) break;
    const size_t close = text.find(kFence, line_end);
    const absl::string_view block = text.substr(line_end + 1, close == absl::string_view::npos ? close : close - line_end - 1);
    const bool defines = absl::StrContains(block, "def ");
    if (!chosen.has_value() || defines) chosen = block;
    if (defines || close == absl::string_view::npos) break;
    open = text.find(kFence, close + kFence.size());
  }
  return std::string(chosen.value_or(text));
}

absl::string_view CutAt(absl::string_view text, absl::Span<const absl::string_view> stops) {
  size_t end = text.size();
  for (const absl::string_view stop : stops) end = std::min(end, text.find(stop));
  return text.substr(0, end);
}

}  // namespace tessera
