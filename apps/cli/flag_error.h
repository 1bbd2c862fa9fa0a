// Errors for a person who knows a program by the flags. An error names an option as the library calls the option (base/usage_error.h); the
// shown message has the name of the flag.
//
//   ShownMessage(WrongUsage("threads", 999, "0 to 256"))                // "--threads: found 999, expected 0 to 256"
//   ShownMessage(LimitedBy("context", status))                          // "prompt: found 31 tokens, ... (--context)"
//   WithFlagNames(status).message()                                     // "adapter: found "a@2" with --device, expected ..."
//
// A flag has the same name as the option that the flag sets. An option that no flag of the program sets is named as in the library.
// Thread-safe.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tessera {

std::string ShownMessage(const absl::Status& status);

// Returns the error with dashes before the other options that the message names (base/named_options.h). For errors that are answers to
// requests: there "adapter" is the request's own field.
absl::Status WithFlagNames(const absl::Status& status);

}  // namespace tessera
