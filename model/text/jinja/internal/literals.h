// Reads numbers and strings as templates write them.
//
//   ASSIGN_OR_RETURN(const NumberLiteral number, ReadNumber("1_000 + x", /*may_be_float=*/true));       // 1000, 5 bytes
//   ASSIGN_OR_RETURN(const StringLiteral string, ReadString("'a\\n' + x"));                             // 5 bytes
//
// Escapes are those of Python. An integer beyond 64 bits is an error. Thread-safe (pure functions).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/jinja/value.h"

namespace tessera::jinja {

struct NumberLiteral {
  Value value;
  size_t size;
};
absl::StatusOr<NumberLiteral> ReadNumber(absl::string_view text, bool may_be_float);  // REQUIRES: `text` begins with a digit.

struct StringLiteral {
  std::string text;
  size_t size;
};
absl::StatusOr<StringLiteral> ReadString(absl::string_view text);  // REQUIRES: `text` begins with a quote.

}  // namespace tessera::jinja
