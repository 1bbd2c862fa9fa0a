// Marks in circulation: texts of tokens that steer a model and that people do not write.
//
//   for (const KnownMark& mark : KnownMarks()) {
//     if (mark.role != MarkRole::kOpens) ends.push_back(mark.text);
//   }
//   HasBars("<|tool_call|>")                                          // true: a mark by its form alone
//
// A model may end its text with any of many tokens, but files name at most three end tokens. Files also forget to type marks as control
// tokens, so the text decides. Some marks' texts are ordinary texts in other vocabularies ("</s>" is a tag of HTML): the table says how to
// prove that a token is the mark. Thread-safe (constant data, pure functions).
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera {

enum class MarkRole : uint8_t {
  kEnds,   // Ends a text, a turn or a message.
  kFills,  // Lays out a prompt for filling in the middle, or separates files. A model that writes such a mark has finished the task.
  kOpens,  // Opens a turn.
};

struct KnownMark {
  absl::string_view text;
  MarkRole role;
  absl::string_view reason;              // The models that use the mark.
  // True: ordinary texts contain the text, too. The token is the mark if the token's type is control, or if the partner is a control token
  // or BOS.
  bool is_also_text = false;
  absl::string_view partner = {};        // Empty: no partner.
  // If the vocabulary has this token, the mark ends only a part, and more text follows. Empty: no such token.
  absl::string_view goes_on_beside = {};
};

absl::Span<const KnownMark> KnownMarks();

// Returns true for a text between <| and |>, between [| and |], or between the wide bars of DeepSeek, without spaces: no one writes such
// words by chance.
bool HasBars(absl::string_view text);

// Returns true for a text between < and >, or between [ and ], with a letter but without spaces: possibly a mark.
bool HasBrackets(absl::string_view text);

// Returns true for the text of a steering token with a type of its own (user-defined), by form alone: bars, or brackets around a word, such
// as <tool_call>. Tags of HTML, and a single letter between [ and ], are no marks: people write such texts.
bool IsMarkByForm(absl::string_view text);

// Returns true for a text with punctuation at both ends around a word, such as "]~b]" or "### User:": a mark if a template writes the text.
bool MayBeMark(absl::string_view text);

}  // namespace tessera
