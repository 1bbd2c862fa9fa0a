#include "tessera/storage/verify_policy.h"

#include "absl/strings/str_cat.h"

namespace tessera {

absl::StatusOr<VerifyPolicy> ParseVerifyPolicy(absl::string_view name) {
  if (name == "first") return VerifyPolicy::kFirst;
  if (name == "always") return VerifyPolicy::kAlways;
  if (name == "never") return VerifyPolicy::kNever;
  return absl::InvalidArgumentError(absl::StrCat("--verify: found \"", name, "\", expected first, always or never"));
}

}  // namespace tessera
