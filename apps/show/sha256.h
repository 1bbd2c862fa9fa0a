// SHA-256 of texts and files, as 64 lower-case hexadecimal digits: says which model and which prompts a result is of.
//
//   Sha256Of("abc");                                                          // "ba7816bf8f01cfea..."
//   ASSIGN_OR_RETURN(const std::string hash, Sha256OfFile("model.gguf"));     // as sha256sum says it
//
// Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera {

std::string Sha256Of(absl::string_view text);

// The errors of RandomAccessFile (base/file.h).
absl::StatusOr<std::string> Sha256OfFile(const std::string& path);

// Whether a text has the form of such a hash.
bool IsSha256(absl::string_view text);

}  // namespace tessera
