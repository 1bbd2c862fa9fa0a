#include "tessera/apps/cli/flag_error.h"

#include <gflags/gflags.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/named_options.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

bool IsFlag(const std::string& name) {
  gflags::CommandLineFlagInfo info;
  return !name.empty() && gflags::GetCommandLineFlagInfo(name.c_str(), &info);
}

}  // namespace

absl::Status WithFlagNames(const absl::Status& status) {
  return WithOptionNames(status, [](absl::string_view option) {
    const std::string name(option);
    return IsFlag(name) ? absl::StrCat("--", name) : name;
  });
}

std::string ShownMessage(const absl::Status& status) {
  const std::string field = FieldOf(status), limit = LimitOf(status);
  const absl::Status named = WithFlagNames(status);
  const bool begins = IsFlag(field) && absl::StartsWith(named.message(), absl::StrCat(field, ": "));
  return absl::StrCat(begins ? "--" : "", named.message(), IsFlag(limit) ? absl::StrCat(" (--", limit, ")") : "");
}

}  // namespace tessera
