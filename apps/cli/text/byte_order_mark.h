// The byte order mark, with which some editors and shells begin a text file, and which is no part of the text.
//
//   std::string text = "\xEF\xBB\xBFHello";
//   RETURN_IF_ERROR(DropByteOrderMark("prompt.txt", &text));          // "Hello"
//
// Thread-safe.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Drops the mark of UTF-8. InvalidArgument for the marks of UTF-16 and UTF-32: `source` has an encoding that is not read here.
absl::Status DropByteOrderMark(absl::string_view source, std::string* text);

}  // namespace tessera
