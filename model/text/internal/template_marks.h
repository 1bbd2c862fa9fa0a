// The texts in brackets that a chat template writes, such as "<|im_start|>" and "[INST]". Such a text is a mark if a token has the text.
//
//   const TemplateMarks marks = FindTemplateMarks("{{ '<|im_start|>' + message['role'] }}<b>");
//   marks.texts;                                                      // "<|im_start|>", "<b>"
//   marks.composes_bars;                                              // false: true for "{{ '<|' + message['role'] + '|>' }}"
//
// The search reads the template's plain text and the strings in its expressions, both written and merely compared strings. Names and
// comments are not read. The template is not run, so marks that the template would put together are not found. Time: linear in the
// template's size, for any template. Thread-safe (pure function).
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tessera {

struct TemplateMarks {
  std::vector<std::string> texts;  // In order, perhaps several times.
  bool composes_bars = false;      // The template puts words between <| and |>, or [| and |], so any such text may be a mark.
  std::string written = {};        // All searched text, with a line break between each two texts.
};

TemplateMarks FindTemplateMarks(absl::string_view source);

}  // namespace tessera
