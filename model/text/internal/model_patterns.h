// Patterns that only one family of models has, built like the patterns of word_patterns.h.
//
//   using Words = CasedWord<Blank, 0>;
//   EXPECT_EQ(Words::End(PlainText(" camelCase"), 0), 6u);    // " camel"
//
// These patterns also take O(n) for n bytes of a text. Thread-safe (pure functions).
#pragma once

#include "tessera/model/text/internal/word_patterns.h"

namespace tessera {

// Set{count}
template <typename Set, int count>
struct Exactly {
  static size_t End(const PlainText& text, size_t at) {
    size_t end = at;
    for (int i = 0; i < count; ++i) {
      const Character c = text.At(end);
      if (!Set::Has(c)) return at;
      end += c.size;
    }
    return end;
  }
};

// First Set+
template <typename First, typename Set>
struct MarkThenRun {
  static size_t End(const PlainText& text, size_t at) {
    const Character c = text.At(at);
    if (!First::Has(c)) return at;
    const size_t end = SkipRun<Set>(text, at + c.size);
    return end > at + c.size ? end : at;
  }
};

// Words that end where capitals start. With U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and L = [\p{Ll}\p{Lm}\p{Lo}\p{M}], each without the traits
// `without`: First?U*L+|First?U+L*
template <typename First, uint32_t without>
struct CasedWord {
  using Upper = Except<In<kUpper | kTitle | kModifierLetter | kOtherLetter | kMark>, In<without>>;
  using Lower = Except<In<kLower | kModifierLetter | kOtherLetter | kMark>, In<without>>;

  // U*L+. If no L follows the run of U, L+ is the last character of the run that is in both sets.
  static size_t EndsLower(const PlainText& text, size_t at) {
    size_t both = at;
    for (Character c = text.At(at); Upper::Has(c); c = text.At(at)) {
      at += c.size;
      if (Lower::Has(c)) both = at;
    }
    const size_t end = SkipRun<Lower>(text, at);
    return end > at ? end : both;
  }
  // U+L*
  static size_t BeginsUpper(const PlainText& text, size_t at) {
    const size_t end = SkipRun<Upper>(text, at);
    return end > at ? SkipRun<Lower>(text, end) : at;
  }
  template <size_t (*rest)(const PlainText&, size_t)>
  static size_t AfterFirst(const PlainText& text, size_t at) {
    const Character c = text.At(at);
    if (First::Has(c)) {
      const size_t end = rest(text, at + c.size);
      if (end > at + c.size) return end;
    }
    return rest(text, at);
  }
  static size_t End(const PlainText& text, size_t at) {
    const size_t end = AfterFirst<EndsLower>(text, at);
    return end > at ? end : AfterFirst<BeginsUpper>(text, at);
  }
};

// First?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+: letters, also with single blanks between them.
template <typename First>
struct SpacedLetters {
  static size_t Letters(const PlainText& text, size_t at) {
    size_t end = at;
    for (;;) {
      const size_t next = text.At(end).code == ' ' && end > at ? end + 1 : end;
      const Character c = text.At(next);
      if (!In<kLetter>::Has(c)) return end;
      end = SkipRun<In<kMark>>(text, next + c.size);
    }
  }
  static size_t End(const PlainText& text, size_t at) {
    const Character c = text.At(at);
    const size_t begin = First::Has(c) ? at + c.size : at;
    const size_t end = Letters(text, begin);
    return end > begin ? end : at;
  }
};

// \s{512}(?!\S)|\s{256}(?!\S)|...|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}
struct HalvedBlanks {
  static size_t End(const PlainText& text, size_t at) {
    size_t ends[10];  // After 1, 2, 4, ..., 512 characters.
    int found = 0;
    size_t count = 0, end = at;
    for (Character c = text.At(at); count < 513 && White::Has(c); c = text.At(end)) {
      end += c.size;
      ++count;
      if ((count & (count - 1)) == 0) ends[found++] = end;
    }
    if (count == 0) return at;
    const bool last_counts = end == text.size() || ends[found - 1] != end;
    return ends[found == 1 || last_counts ? found - 1 : found - 2];
  }
};

// The letters of European scripts, as the tokenizers of DeepSeek's first models list them.
struct EuropeanLetters {
  static bool Has(const Character& c);
};

}  // namespace tessera
