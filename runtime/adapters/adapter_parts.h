// Reads the adapter names of a request or a flag: no adapter, one adapter, or one composed of several, each with a scale.
//
//   const AdapterNames names = {.listed = {"style", "facts"}};
//   ASSIGN_OR_RETURN(const std::optional<AdapterParts> asked, AdapterPartsOf(request.body(), names));     // {"adapter": "style,facts@0.5"}
//   if (asked.has_value()) Compose(*asked);                                                              // {{"style", 1}, {"facts", 0.5}}
//
// A text holds names separated by commas, each as "NAME@SCALE" or as "NAME" with scale 1. A list of texts has one name per text. A known
// name is taken as written, even with an "@" in the name. All other input is refused with the text found: unknown names, scales that are no
// finite 32-bit numbers, a name twice, more than kMostAdapterParts names.
//
// Threads: thread-safe (pure functions, except AdapterNames::why_not).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/json.h"

namespace tessera {

constexpr int kMostAdapterParts = 16;

// One adapter and its scale.
struct AdapterPart {
  std::string name = {};
  float scale = 1;
  friend bool operator==(const AdapterPart&, const AdapterPart&) = default;
};
using AdapterParts = std::vector<AdapterPart>;   // Empty: no adapter.

// The known adapter names.
struct AdapterNames {
  std::vector<std::string> listed = {};
  // Returns an empty text if a name that is not listed is known, too. Otherwise returns words that describe the expected names. Null: only
  // the listed names are known.
  std::function<std::string(const std::string& name)> why_not = nullptr;
};

// Makes an error of the text found and the text expected.
using WrongAdapter = absl::FunctionRef<absl::Status(const std::string& found, const std::string& expected)>;

// Reads "style" or "style,facts@0.5". no_adapter: how the input writes no adapter, for messages.
absl::StatusOr<AdapterParts> ParseAdapterParts(absl::string_view text, const AdapterNames& names, absl::string_view no_adapter,
                                               WrongAdapter wrong);

// Returns the adapter parts in the object's field "adapter": no part for null or "", nullopt without the field. Errors: InvalidArgument
// (found, expected).
absl::StatusOr<std::optional<AdapterParts>> AdapterPartsOf(const JsonValue& object, const AdapterNames& names);

// Returns a name such as "style,facts@0.5".
std::string AdapterPartsName(const AdapterParts& parts);

}  // namespace tessera
