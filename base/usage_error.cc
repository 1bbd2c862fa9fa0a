#include "tessera/base/usage_error.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "tessera/base/joined_status.h"

namespace tessera {
namespace {

constexpr char kField[] = "tessera/wrong_usage", kLimit[] = "tessera/limit";

std::string PayloadOf(const absl::Status& status, absl::string_view name) {
  const auto payload = status.GetPayload(name);
  return payload.has_value() ? std::string(*payload) : "";
}

}  // namespace

absl::Status WrongUsage(absl::string_view field, const absl::AlphaNum& found, absl::string_view expected) {
  absl::Status status = absl::InvalidArgumentError(absl::StrCat(field, ": found ", found, ", expected ", expected));
  status.SetPayload(kField, absl::Cord(field));
  return status;
}

absl::Status ForField(absl::string_view field, const absl::Status& status) {
  if (status.ok() || IsWrongUsage(status)) return status;
  const std::string begin = absl::StrCat(field, ": ");
  const absl::string_view message = status.message();
  absl::Status marked = WithMessage(status, absl::StartsWith(message, begin) ? std::string(message) : absl::StrCat(begin, message));
  marked.SetPayload(kField, absl::Cord(field));
  return marked;
}

absl::Status ForFile(absl::string_view field, const absl::Status& status) {
  const bool wrong_file = absl::IsInvalidArgument(status) || absl::IsNotFound(status) || absl::IsPermissionDenied(status) ||
                          absl::IsAlreadyExists(status) || absl::IsFailedPrecondition(status);
  return wrong_file ? ForField(field, status) : status;
}

bool IsWrongUsage(const absl::Status& status) { return status.GetPayload(kField).has_value(); }

std::string FieldOf(const absl::Status& status) { return PayloadOf(status, kField); }

absl::Status LimitedBy(absl::string_view field, absl::Status status) {
  status.SetPayload(kLimit, absl::Cord(field));  // Does nothing to OK.
  return status;
}

std::string LimitOf(const absl::Status& status) { return PayloadOf(status, kLimit); }

}  // namespace tessera
