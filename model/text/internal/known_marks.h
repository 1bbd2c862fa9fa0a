// Marks in circulation: texts of tokens that steer a model and are no part of what people write.
//
//   for (const KnownMark& mark : KnownMarks()) {
//     if (mark.role != MarkRole::kOpens) ends.push_back(mark.text);
//   }
//   HasBars("<|tool_call|>")                                          // true: a mark by its form alone
//
// A model ends its text with one of many tokens, and files name at most three of them. Files also forget to type marks as control tokens,
// so the text decides. Some of these texts are ordinary ones in other vocabularies ("</s>" is a tag of HTML): the table says what proves
// that a token is the mark. Thread-safe (constant data, pure functions).
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera {

enum class MarkRole : uint8_t {
  kEnds,   // Ends a text, a turn or a message.
  kFills,  // Lays out a prompt for filling in the middle, or parts files. A model that writes one has finished what was asked.
  kOpens,  // Opens a turn.
};

struct KnownMark {
  absl::string_view text;
  MarkRole role;
  absl::string_view reason;              // The models that use it.
  // True: ordinary texts hold it, too. It is the mark if its type is control, or if that of its partner is.
  bool is_also_text = false;
  absl::string_view partner = {};        // Empty: none.
  // If the vocabulary has this token, the mark ends only a part, and more follows. Empty: none.
  absl::string_view goes_on_beside = {};
};

absl::Span<const KnownMark> KnownMarks();

// True for a text between <| and |>, between [| and |], or between the wide bars of DeepSeek, without spaces: no one writes such words by
// chance.
bool HasBars(absl::string_view text);

// True for a text between < and >, or between [ and ], with a letter but without spaces: it may be a mark.
bool HasBrackets(absl::string_view text);

// True for what a token of a type of its own (user-defined) steers a model with, by its form alone: bars, or brackets around a word, such
// as <tool_call>. A tag of HTML is what people write, and so is a single letter between [ and ]: no marks.
bool IsMarkByForm(absl::string_view text);

// True for a text that begins and ends with punctuation around a word, such as "]~b]" or "### User:": a mark if a template writes it.
bool MayBeMark(absl::string_view text);

}  // namespace tessera
