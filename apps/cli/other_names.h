// The names that other engines give to our flags, so that an error can suggest our flag.
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
  const char* ours;    // Our flag; "": no such flag.
  const char* note;    // Without a flag: the reason, and advice.
};

absl::Span<const OtherName> OtherNames();  // All names.

// Returns null if the name is not known.
const OtherName* FindOtherName(absl::string_view theirs);

}  // namespace tessera
