// Parameters of a rule as a text, "tokens=8,least=0.5": each key once, each value checked, and a key that nothing takes is refused.
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
// "; did you mean NAME?", or nothing.
std::string MeantName(const std::string& name, const std::vector<std::string>& names);

// The first fault is kept; what is taken after it does not count. What a text does not have stays as it is.
class Parameters {
 public:
  // what: begins errors. prefix: stands before each key in them.
  Parameters(absl::string_view what, absl::string_view prefix, absl::string_view text);

  void Take(absl::string_view key, int least, int most, int& value);
  void Take(absl::string_view key, bool& value);                            // 0 or 1.
  void Take(absl::string_view key, std::vector<int>& values, int most_count, int most);   // From 1 on, with x between.
  void TakeShare(absl::string_view key, bool may_be_zero, double& value);   // In [0, 1], or (0, 1].
  void TakeNumber(absl::string_view key, bool may_be_zero, float& value);   // Finite, not below 0.

  // The first fault, or that of a key that nothing took.
  absl::Status Done() const;

 private:
  void Take(absl::string_view key, absl::string_view expected, absl::FunctionRef<bool(absl::string_view)> parse);

  const std::string what_, prefix_;
  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
  absl::Status fault_;
};

}  // namespace tessera
