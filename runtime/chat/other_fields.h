// Names of request fields in other interfaces, so that an error can name our field, or say which feature is here instead.
//
//   ForeignFieldHint("max_tokens", {"id", "text", "n_predict"});       // "; did you mean n_predict?"
//   ForeignFieldHint("logprobs", {"id", "text"});                      // "; probabilities are not written beside an answer: ..."
//   ForeignFieldHint("txet", {"id", "text"});                          // "; did you mean text?"
//
// Thread-safe (constant data).
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct OtherField {
  const char* theirs;
  const char* ours;   // A field that may be one of ours, depending on the request; "": there is none.
  const char* note;   // Where no field of ours fits: the feature that is here instead.
};

absl::Span<const OtherField> OtherFields();  // All.

// Returns a hint for a message about the field `name` of a request: the field of `known` that is meant, or the feature here; empty if
// nothing is known of it.
std::string ForeignFieldHint(absl::string_view name, absl::Span<const absl::string_view> known);

}  // namespace tessera
