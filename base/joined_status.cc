#include "tessera/base/joined_status.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace tessera {

absl::Status Joined(const absl::Status& first, const absl::Status& second) {
  if (first.ok()) return second;
  if (second.ok() || first.message() == second.message()) return first;
  return WithMessage(first, absl::StrCat(first.message(), "; ", second.message()));
}

absl::Status WithMessage(const absl::Status& status, absl::string_view message) {
  absl::Status changed(status.code(), message);
  status.ForEachPayload([&](absl::string_view name, const absl::Cord& payload) { changed.SetPayload(name, payload); });
  return changed;
}

}  // namespace tessera
