// The texts in brackets that a chat template writes, such as "<|im_start|>" and "[INST]": its marks, if tokens have these texts.
//
//   const TemplateMarks marks = FindTemplateMarks("{{ '<|im_start|>' + message['role'] }}<b>");
//   marks.texts;                                                      // "<|im_start|>", "<b>"
//   marks.composes_bars;                                              // false: true for "{{ '<|' + message['role'] + '|>' }}"
//
// Searched are the texts that stand in a template: what it writes as it is, and the strings in its expressions, whether it writes them or
// only compares with them; names and comments are not. The template is not run, so marks that it would put together are not found.
// Linear in its size, whatever it holds. Thread-safe (pure function).
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tessera {

struct TemplateMarks {
  std::vector<std::string> texts;  // In order, perhaps several times.
  bool composes_bars = false;      // It puts words between <| and |>, or [| and |], so any such text may be one of its marks.
  std::string written = {};        // All that was searched, a line break between each two texts.
};

TemplateMarks FindTemplateMarks(absl::string_view source);

}  // namespace tessera
