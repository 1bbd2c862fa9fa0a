// Texts built into a program, each with a name, in addition to texts in files.
//
//   constexpr NamedText kProfiles[] = {{"ufs3.1", "speed { ... }"}, {"ufs4.0", "speed { ... }"}};
//   ASSIGN_OR_RETURN(const std::string text, ReadNamedText("flash profile", "ufs4.0", kProfiles, /*max_bytes=*/1 << 20));
//
// A name wins over a file of that name; "./ufs4.0" is the file. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct NamedText {
  const char* name;
  const char* text;
};

std::vector<std::string> NamesOf(absl::Span<const NamedText> texts);  // In the order of `texts`.

// Returns the built-in text with that name, else the text of the file. NotFound "KIND: found "ufs9", expected a file or one of ufs3.1,
// ufs4.0" if there is neither; other errors of reading as ReadFileToString (file.h).
absl::StatusOr<std::string> ReadNamedText(absl::string_view kind, const std::string& name_or_path,
                                          absl::Span<const NamedText> built_in, int64_t max_bytes);

}  // namespace tessera
