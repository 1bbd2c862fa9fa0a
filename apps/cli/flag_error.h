// Errors as a person reads them who knows a program by its flags: what a library calls an option (base/usage_error.h) gets its flag's name.
//
//   ShownMessage(WrongUsage("threads", 999, "0 to 256"))                // "--threads: found 999, expected 0 to 256"
//   ShownMessage(LimitedBy("context", status))                          // "prompt: found 31 tokens, ... (--context)"
//   WithFlagNames(status).message()                                     // "adapter: found "a@2" with --device, expected ..."
//
// A flag is called as the option that it sets. An option that no flag of the program sets keeps its name. Thread-safe.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace tessera {

std::string ShownMessage(const absl::Status& status);

// Returns the error with dashes before the other options that the message names (base/named_options.h). For errors that are answers to
// requests: there "adapter" is the request's own field.
absl::Status WithFlagNames(const absl::Status& status);

}  // namespace tessera
