// Judges each key of an adapter_config.json: some keys are read, some change nothing, and some must be nothing.
//
//   RETURN_IF_ERROR(JudgeAdapterKeys(json, PeftKeys()));          // or MlxKeys(), MlxParameterKeys()
//
// The rules are data: a test walks the rules, and docs/adapters.md shows the keys that change nothing. A key without a rule must also be
// nothing (null, false or empty), since its meaning is unknown. Errors: InvalidArgument with file, key, found and expected. Thread-safe
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
    kRead,      // The code that reads the key checks the value.
    kNoEffect,  // No value changes the results computed here.
    kNothing,   // null, false or empty: other values change the result in ways that are not computed here.
  };
  const char* key;
  Judgement judgement;
  // kRead: the meaning of the key. kNoEffect: the reason why the key has no effect. kNothing: the effect of another value.
  const char* why;
};

using AdapterKeys = absl::Span<const AdapterKey>;

AdapterKeys PeftKeys();
// Returns the rules for folders that mlx-lm writes, and for the object "lora_parameters" in such folders.
AdapterKeys MlxKeys();
AdapterKeys MlxParameterKeys();

absl::Status JudgeAdapterKeys(const JsonValue& json, AdapterKeys keys);

// Returns a value in a few words, for messages.
std::string ShownValue(const JsonValue& value);
// Returns true for null, false and empty values.
bool IsNothing(const JsonValue& value);
// Returns the value under a key; NotFound if the value is absent or null.
absl::StatusOr<JsonValue> GivenValue(const JsonValue& json, absl::string_view key);

}  // namespace tessera
