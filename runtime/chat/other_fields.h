// Knows the names of request fields in other interfaces. An error then names the field of this interface, or the feature here instead.
//
//   ForeignFieldHint("max_tokens", {"id", "text", "n_predict"});       // "; did you mean n_predict?"
//   ForeignFieldHint("logprobs", {"id", "text"});                      // "; probabilities are not written beside an answer: ..."
//   ForeignFieldHint("txet", {"id", "text"});                          // "; did you mean text?"
//
// Threads: thread-safe (constant data).
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// A field of another interface.
struct OtherField {
  const char* theirs;
  const char* ours;   // The matching field here, known to some requests; "": none.
  const char* note;   // Without a matching field: the feature here instead.
};

absl::Span<const OtherField> OtherFields();  // All known fields.

// Returns a hint for a message about a request's field `name`: the matching field of `known`, or the feature here instead. Empty if nothing
// is known of `name`.
std::string ForeignFieldHint(absl::string_view name, absl::Span<const absl::string_view> known);

}  // namespace tessera
