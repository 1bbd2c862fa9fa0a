// Building blocks of the rules that cut text into words (word_rules.cc), each equal to a regular expression.
//
//   using Words = OneOf<OptionalThenRun<Blank, In<kLetter>>, OptionalThenRun<Blank, In<kNumber>>, Blanks>;  //  ?\p{L}+| ?\p{N}+|...
//   EXPECT_EQ(Words::End(PlainText("ab 12"), 2), 5u);
//
// A set's Has says whether the set contains a character. A pattern's End returns the end of the match at a place of the text, or the place
// if the pattern does not match. No pattern goes back further than the start of the last run, and none reads text of an earlier word more
// than once. Any text of n bytes takes O(n), and no limit is ever reached. Thread-safe (pure functions).
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "tessera/model/text/internal/unicode_traits.h"

namespace tessera {

struct Character {
  uint32_t code = 0xffffffff;
  uint32_t traits = 0;  // None at the end of the text.
  size_t size = 0;      // 0: the end of the text.
};

// REQUIRES: the text is valid UTF-8.
class PlainText {
 public:
  explicit PlainText(absl::string_view text) : text_(text), table_(UnicodeTable::Get()) {}

  size_t size() const { return text_.size(); }
  absl::string_view substr(size_t begin, size_t end) const { return text_.substr(begin, end - begin); }
  Character At(size_t at) const {
    if (at >= text_.size()) return {};
    const uint32_t first = Byte(at);
    if (first < 0x80) return {first, table_.AsciiTraits(first), 1};
    const uint32_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t code = first & (0x7fu >> size);
    for (uint32_t i = 1; i < size; ++i) code = code << 6 | (Byte(at + i) & 0x3f);
    return {code, table_.Traits(code), size};
  }
  // Returns the start of the character that ends at `end`. REQUIRES: end > 0.
  size_t Before(size_t end) const {
    --end;
    while ((Byte(end) & 0xc0) == 0x80) --end;
    return end;
  }

  // State of BlankLines: no second search for line ends in white space without line ends.
  mutable size_t no_line_ends_before = 0;

 private:
  uint32_t Byte(size_t at) const { return static_cast<uint8_t>(text_[at]); }

  absl::string_view text_;
  const UnicodeTable& table_;
};

// Sets. No set contains the end of the text.
template <uint32_t traits>
struct In {
  static bool Has(const Character& c) { return (c.traits & traits) != 0; }
};
template <uint32_t traits>
struct NotIn {
  static bool Has(const Character& c) { return (c.traits & traits) == 0 && c.size != 0; }
};
template <uint32_t... codes>
struct Codes {
  static bool Has(const Character& c) { return ((c.code == codes) || ...); }
};
template <uint32_t begin, uint32_t end>  // Both bounds belong to the set.
struct Between {
  static bool Has(const Character& c) { return c.code >= begin && c.code <= end; }
};
template <typename... Sets>
struct AnyOf {
  static bool Has(const Character& c) { return (Sets::Has(c) || ...); }
};
template <typename Set, typename Without>
struct Except {
  static bool Has(const Character& c) { return Set::Has(c) && !Without::Has(c); }
};
using Blank = Codes<' '>;
using LineEnd = Codes<'\r', '\n'>;
using NoLineEnd = Except<NotIn<0>, LineEnd>;
using White = In<kWhiteSpace>;

template <typename Set>
size_t SkipRun(const PlainText& text, size_t at) {
  for (Character c = text.At(at); Set::Has(c); c = text.At(at)) at += c.size;
  return at;
}

// Set{1,most}
template <typename Set, int most>
struct UpTo {
  static size_t End(const PlainText& text, size_t at) {
    for (int i = 0; i < most; ++i) {
      const Character c = text.At(at);
      if (!Set::Has(c)) break;
      at += c.size;
    }
    return at;
  }
};

// Set+
template <typename Set>
struct RunOf {
  static size_t End(const PlainText& text, size_t at) { return SkipRun<Set>(text, at); }
};

// First?Set+
template <typename First, typename Set>
struct OptionalThenRun {
  static size_t End(const PlainText& text, size_t at) {
    const Character c = text.At(at);
    if (First::Has(c)) {
      const size_t end = SkipRun<Set>(text, at + c.size);
      if (end > at + c.size) return end;
    }
    return Set::Has(c) ? SkipRun<Set>(text, at + c.size) : at;
  }
};

// Pattern Set*
template <typename Pattern, typename Set>
struct ThenRun {
  static size_t End(const PlainText& text, size_t at) {
    const size_t end = Pattern::End(text, at);
    return end == at ? at : SkipRun<Set>(text, end);
  }
};

// (Pattern)(Other)?
template <typename Pattern, typename Other>
struct ThenMaybe {
  static size_t End(const PlainText& text, size_t at) {
    const size_t end = Pattern::End(text, at);
    return end == at ? at : Other::End(text, end);
  }
};

// \s*[\r\n]+, and \s*[\r\n] as well: all white space up to the last end of a line.
struct BlankLines {
  static size_t End(const PlainText& text, size_t at) {
    if (at < text.no_line_ends_before) return at;
    size_t after = at;
    for (Character c = text.At(at); White::Has(c); c = text.At(at)) {
      at += c.size;
      if (LineEnd::Has(c)) after = at;
    }
    text.no_line_ends_before = at;
    return after;
  }
};

// \s+(?!\S)|\s+: white space leaves the last character to the next word, unless the white space has only one character.
struct Blanks {
  static size_t End(const PlainText& text, size_t at) {
    const size_t end = SkipRun<White>(text, at);
    if (end == at || end == text.size()) return end;
    const size_t last = text.Before(end);
    return last == at ? end : last;
  }
};

// 's|'t|'re|'ve|'m|'ll|'d, and (?i:...) of this if any_case: then U+017F is an s, too.
template <bool any_case>
struct Ending {
  static uint32_t Folded(uint32_t code) {
    if (!any_case) return code;
    return code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code == 0x17f ? 's' : code;
  }
  static size_t End(const PlainText& text, size_t at) {
    if (text.At(at).code != '\'') return at;
    const Character first = text.At(at + 1);
    const uint32_t one = Folded(first.code);
    const size_t end = at + 1 + first.size;
    if (one == 's' || one == 't' || one == 'm' || one == 'd') return end;
    if (one != 'r' && one != 'v' && one != 'l') return at;
    return Folded(text.At(end).code) == (one == 'l' ? 'l' : 'e') ? end + 1 : at;
  }
};

// The first pattern that matches.
template <typename... Patterns>
struct OneOf {
  static size_t End(const PlainText& text, size_t at) {
    size_t end = at;
    (void)(((end = Patterns::End(text, at)) != at) || ...);
    return end;
  }
};

}  // namespace tessera
