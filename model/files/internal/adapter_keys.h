// How each key of an adapter_config.json is judged: which are read, which change nothing, and which must be nothing.
//
//   RETURN_IF_ERROR(JudgeAdapterKeys(json, PeftKeys()));          // or MlxKeys(), MlxParameterKeys()
//
// The rules are data: a test walks them, and docs/adapters.md shows those that change nothing. A key that no table has must be nothing
// (null, false or empty), too: what it means is not known. Errors are InvalidArgument with file, key, found and expected. Thread-safe
// (constant data and pure functions).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/json.h"

namespace tessera {

struct AdapterKey {
  enum Judgement {
    kRead,      // The code that reads it checks its value.
    kNoEffect,  // No value changes what is computed here.
    kNothing,   // null, false or empty: other values change the result in ways that are not computed here.
  };
  const char* key;
  Judgement judgement;
  const char* why;   // kRead: what it is. kNoEffect: why it has none. kNothing: what another value does.
};

using AdapterKeys = absl::Span<const AdapterKey>;

AdapterKeys PeftKeys();
// Those of folders that mlx-lm writes, and of the object "lora_parameters" in them.
AdapterKeys MlxKeys();
AdapterKeys MlxParameterKeys();

absl::Status JudgeAdapterKeys(const JsonValue& json, AdapterKeys keys);

// A value in a few words, for messages.
std::string ShownValue(const JsonValue& value);
// null, false, or empty.
bool IsNothing(const JsonValue& value);
// The value under a key; NotFound if it is absent or null.
absl::StatusOr<JsonValue> GivenValue(const JsonValue& json, absl::string_view key);

}  // namespace tessera
