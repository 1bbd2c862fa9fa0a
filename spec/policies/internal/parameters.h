// Parses a rule's parameters, such as "tokens=8,least=0.5". Each key stands once, each value is checked, and a key that was not taken is
// refused.
//
//   Parameters parameters("tree", "chain:", "tokens=8");
//   parameters.Take("tokens", 1, 255, options.tokens);
//   parameters.TakeShare("least", /*may_be_zero=*/true, options.least);
//   RETURN_IF_ERROR(parameters.Done());                   // "tree: found chain:token, expected one of tokens, least; did you mean tokens?"
//
// Thread-compatible.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// InvalidArgument: "WHAT: found FOUND, expected EXPECTED".
absl::Status WrongParameter(absl::string_view what, absl::string_view found, absl::string_view expected);
// Returns "; did you mean NAME?", or an empty string.
std::string MeantName(const std::string& name, const std::vector<std::string>& names);

// Keeps the first fault; later Take calls do not count. A parameter that is missing in the text stays as it is.
class Parameters {
 public:
  // what: begins errors. prefix: stands before each key in errors.
  Parameters(absl::string_view what, absl::string_view prefix, absl::string_view text);

  void Take(absl::string_view key, int least, int most, int& value);
  void Take(absl::string_view key, bool& value);                            // 0 or 1.
  void Take(absl::string_view key, std::vector<int>& values, int most_count, int most);   // From 1 on, with x between.
  void TakeShare(absl::string_view key, bool may_be_zero, double& value);   // In [0, 1], or (0, 1].
  void TakeNumber(absl::string_view key, bool may_be_zero, float& value);   // Finite, not below 0.

  // Returns the first fault, or an error for a key that was not taken.
  absl::Status Done() const;

 private:
  void Take(absl::string_view key, absl::string_view expected, absl::FunctionRef<bool(absl::string_view)> parse);

  const std::string what_, prefix_;
  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
  absl::Status fault_;
};

}  // namespace tessera
