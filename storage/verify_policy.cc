#include "tessera/storage/verify_policy.h"

#include "tessera/base/quoted.h"
#include "tessera/base/usage_error.h"

namespace tessera {

absl::StatusOr<VerifyPolicy> ParseVerifyPolicy(absl::string_view name) {
  if (name == "first") return VerifyPolicy::kFirst;
  if (name == "always") return VerifyPolicy::kAlways;
  if (name == "never") return VerifyPolicy::kNever;
  return WrongUsage("verify", Quoted(name), "first, always or never");
}

}  // namespace tessera
