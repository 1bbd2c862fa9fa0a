// Writes values as JSON, like json.dumps of Python. Texts keep the origin of each byte.
//
//   ASSIGN_OR_RETURN(const Text text, JsonText(runtime, value, {.indent = 4}));
//
// Thread-compatible.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/model/text/jinja/internal/runtime.h"

namespace tessera::jinja {

struct JsonStyle {
  bool ascii = false;                                // Characters beyond ASCII become \uXXXX.
  std::optional<Text> indent = std::nullopt;         // Per level; nullopt: all in one line.
  std::optional<Text> item_separator = std::nullopt;  // nullopt: ", ", or "," before a line break.
  Text key_separator = Text(": ", false);
  bool sort_keys = false;
};

absl::StatusOr<Text> JsonText(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace tessera::jinja
