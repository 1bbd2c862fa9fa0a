#include "tessera/base/joined_status.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace tessera {

absl::Status Joined(const absl::Status& first, const absl::Status& second) {
  if (first.ok()) return second;
  if (second.ok() || first.message() == second.message()) return first;
  absl::Status both(first.code(), absl::StrCat(first.message(), "; ", second.message()));
  first.ForEachPayload([&](absl::string_view name, const absl::Cord& payload) { both.SetPayload(name, payload); });
  return both;
}

}  // namespace tessera
