// Converts tool calls in a message to the form that templates take.
//
//   ASSIGN_OR_RETURN(const GivenCall call, GivenCall::Of(json, values_left));   // {"function": {"name": "f", "arguments": "{\"a\": 1}"}}
//   call.parsed        // {"function": {"name": "f", "arguments": {"a": 1}}}
//   call.as_sent       // With the text. None: the client sent no text.
//
// Clients send a function's arguments as JSON text. Most templates take the parsed object, a few take the text. A template that takes the
// object would write a text as JSON once more, without an error. Thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/json.h"
#include "tessera/model/text/jinja/value.h"

namespace tessera {

struct GivenCall {
  jinja::Value parsed = {};
  std::optional<jinja::Value> as_sent = std::nullopt;

  const jinja::Value& Form(bool sent) const { return sent && as_sent ? *as_sent : parsed; }

  // Reads a call, or a function with arguments. A blank text means no arguments. `values_left` bounds the values in the texts of all calls
  // together, and is decreased. Returns InvalidArgument for a call that is no object, and for a text that is no JSON object.
  static absl::StatusOr<GivenCall> Of(const JsonValue& call, int64_t& values_left);
};

// Returns the call with another function name. The name stands in the call or in the call's "function".
jinja::Value Renamed(const jinja::Value& call, const std::string& name);

}  // namespace tessera
