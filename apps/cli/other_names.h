// How other engines call what our flags do, so that an error can name ours.
//
//   const OtherName* other = FindOtherName("ctx_size");
//   if (other != nullptr && *other->ours != 0) Say("did you mean --", other->ours, "?");         // "context"
//
// Thread-safe (constant data).
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera {

struct OtherName {
  const char* theirs;  // Without dashes at the front, with underscores for others.
  const char* ours;    // The flag; "": there is none.
  const char* note;    // If there is none: why, and what to do.
};

absl::Span<const OtherName> OtherNames();  // All.

// Null: the name is not known.
const OtherName* FindOtherName(absl::string_view theirs);

}  // namespace tessera
