// Marks an error with the other options that the message names. A program can then write these options as the user knows the names.
//
//   const absl::Status status = NamingOptions({"draft_model"}, WrongUsage("tree", "without draft_model", "both"));
//   WithOptionNames(status, [](absl::string_view option) { return absl::StrCat("--", option); });
//                                                                        // "tree: found without --draft_model, expected both"
//
// A library names an option by the field. base/usage_error.h marks the option in error; this header marks the rest. The mark is a payload:
// copies of a status keep the mark. Thread-safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Marks `status` with texts of its message that begin with an option's name: "draft_model"; or "speculate=none", "adapter and", where the
// name alone stands for other things in the message, too. Replaces an earlier mark. OK stays OK.
absl::Status NamingOptions(const std::vector<std::string>& texts, absl::Status status);

// Returns `status` with the option of each marked text as `name_of` names the option. Quoted parts of the message stay as they are, and so
// do texts within longer words, and after a dash. Code and marks stay. OK stays OK.
absl::Status WithOptionNames(const absl::Status& status, absl::FunctionRef<std::string(absl::string_view option)> name_of);

}  // namespace tessera
