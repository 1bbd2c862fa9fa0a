// The adapter that a request or a flag asks for by names: none, one, or one made of several, each with a scale.
//
//   const AdapterNames names = {.listed = {"style", "facts"}};
//   ASSIGN_OR_RETURN(const std::optional<AdapterParts> asked, AdapterPartsOf(request.body(), names));     // {"adapter": "style,facts@0.5"}
//   if (asked.has_value()) Compose(*asked);                                                              // {{"style", 1}, {"facts", 0.5}}
//
// A text has names with commas between, each with "@SCALE" or without it, which is a scale of 1; a list of texts has a name in each. A
// name that is known as it stands is taken as it stands, with an "@" in it, too. Anything else is refused with the text found:
// names that nobody knows, scales that are no finite numbers of 32 bits, a name twice, more than kMostAdapterParts. Thread-safe (pure
// functions, except AdapterNames::why_not).
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

struct AdapterPart {
  std::string name = {};
  float scale = 1;
  friend bool operator==(const AdapterPart&, const AdapterPart&) = default;
};
using AdapterParts = std::vector<AdapterPart>;   // Empty: no adapter.

struct AdapterNames {
  std::vector<std::string> listed = {};
  // Returns an empty text for a name beyond the listed ones that is known, too; else words for a name that was expected. Null: there are no
  // others.
  std::function<std::string(const std::string& name)> why_not = nullptr;
};

// Makes an error of the text found and the text expected.
using WrongAdapter = absl::FunctionRef<absl::Status(const std::string& found, const std::string& expected)>;

// text: "style" or "style,facts@0.5". no_adapter: how none is said there, for messages.
absl::StatusOr<AdapterParts> ParseAdapterParts(absl::string_view text, const AdapterNames& names, absl::string_view no_adapter,
                                               WrongAdapter wrong);

// Returns the adapter that the object names by "adapter": parts; no part where it says that there is to be none, by null or ""; nullopt
// where it says nothing. Errors are InvalidArgument (found, expected).
absl::StatusOr<std::optional<AdapterParts>> AdapterPartsOf(const JsonValue& object, const AdapterNames& names);

// "style,facts@0.5".
std::string AdapterPartsName(const AdapterParts& parts);

}  // namespace tessera
