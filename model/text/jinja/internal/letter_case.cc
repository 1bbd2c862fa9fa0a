#include "tessera/model/text/jinja/internal/letter_case.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/text/jinja/internal/characters.h"
#include "tessera/model/text/jinja/internal/fail.h"
#include "tessera/model/text/jinja/internal/letter_case_table.h"

namespace tessera::jinja {
namespace {

constexpr uint32_t kSharpS = 0xDF, kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2, kDottedI = 0x130;

uint32_t Mapped(uint32_t code, absl::Span<const CaseRange> ranges) {
  for (const CaseRange& range : ranges) {
    if (code >= range.first && code <= range.last && (code - range.first) % range.step == 0) {
      return static_cast<uint32_t>(static_cast<int64_t>(code) + range.distance);
    }
  }
  return code;
}

uint32_t UpperOf(uint32_t code) {
  if (code < 0x80) return code >= 'a' && code <= 'z' ? code - 32 : code;
  return Mapped(code, kToUpper);
}

uint32_t LowerOf(uint32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code + 32 : code;
  return Mapped(code, kToLower);
}

bool UpperIsLonger(uint32_t code) { return std::binary_search(std::begin(kUpperIsLonger), std::end(kUpperIsLonger), code); }

bool IsLetterWithCase(uint32_t code) { return UpperOf(code) != code || LowerOf(code) != code || UpperIsLonger(code); }

absl::StatusOr<std::string> Upper(uint32_t code) {
  if (code == kSharpS) return "SS";
  if (UpperIsLonger(code)) return Fail("found ", Utf8Of(code), " to write in upper case, which is not supported");
  return Utf8Of(UpperOf(code));
}

}  // namespace

absl::StatusOr<Text> Cased(Runtime& runtime, const Text& text, LetterCase wanted) {
  RETURN_IF_ERROR(runtime.Step(text.size() / 2));
  const std::string& bytes = text.bytes();
  Text out;
  bool first = true, within_word = false;
  for (size_t at = 0; at < bytes.size();) {
    const auto [code, size] = CharacterAt(bytes, at);
    const bool title = first && wanted >= LetterCase::kCapitalized;
    std::string cased = bytes.substr(at, size);
    if (title && code >= 0x80 && (code == kSharpS || UpperIsLonger(code) || (code >= 0x1C4 && code <= 0x1F3))) {
      return Fail("found ", cased, " to write in title case, which is not supported");
    }
    if (wanted == LetterCase::kUpper || title) {
      ASSIGN_OR_RETURN(cased, Upper(code));
    } else if (code == kCapitalSigma) {
      // A sigma at the end of a word has a separate form.
      const bool ends = at + size >= bytes.size() || !IsLetterWithCase(CharacterAt(bytes, at + size).code);
      cased = Utf8Of(within_word && ends ? kFinalSigma : kSigma);
    } else if (code == kDottedI) {
      cased = "i\xCC\x87";
    } else if (LowerOf(code) != code) {
      cased = Utf8Of(LowerOf(code));
    }
    // A byte that is no part of UTF-8 stays.
    const bool lone = size == 1 && code >= 0x80;
    out.Append(lone ? bytes.substr(at, size) : cased, text.FromData(at));
    first = wanted == LetterCase::kTitle &&
            (IsSpace(code) || (code < 0x80 && absl::StrContains("-({[<", std::string(1, static_cast<char>(code)))));
    within_word = IsLetterWithCase(code);
    at += size;
  }
  return out;
}

absl::StatusOr<bool> AllOfCase(Runtime& runtime, const Text& text, bool upper) {
  RETURN_IF_ERROR(runtime.Step(text.size() / 2));
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const auto [code, size] = CharacterAt(text.bytes(), at);
    const bool is_upper = LowerOf(code) != code, is_lower = UpperOf(code) != code || UpperIsLonger(code);
    if (upper ? is_lower : is_upper) return false;
    any = any || is_upper || is_lower;
    at += size;
  }
  return any;
}

}  // namespace tessera::jinja
