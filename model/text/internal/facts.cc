#include "tessera/model/text/internal/facts.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"

namespace tessera {
namespace {

std::string NameOf(const FactPlace& place) {
  return absl::StrCat(place.file, place.file.empty() ? "" : ": ", "metadata ", Quoted(place.key));
}

std::string At(int64_t offset) { return offset < 0 ? "" : absl::StrCat(" at byte ", offset); }

absl::Status WrongElementAt(const FactPlace& list, int64_t index, int64_t offset_in_list, absl::string_view problem) {
  const int64_t offset = list.offset < 0 ? -1 : list.offset + offset_in_list;
  return absl::InvalidArgumentError(absl::StrCat(NameOf(list), " value[", index, "]", At(offset), ": ", problem));
}

}  // namespace

absl::Status WrongFact(const FactPlace& place, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(NameOf(place), place.offset < 0 ? "" : " value", At(place.offset), ": ", problem));
}

absl::Status MissingInFact(const FactPlace& place, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(place.file, place.file.empty() ? "" : ": ", place.key, ": ", problem));
}

absl::Status WrongElement(const FileFact<LengthPrefixedStrings>& list, int64_t index, absl::string_view problem) {
  return WrongElementAt(list.place, index, list.value->OffsetOf(index), problem);
}

absl::Status WrongElement(const FactPlace& list, int64_t index, int64_t element_bytes, absl::string_view problem) {
  return WrongElementAt(list, index, index * element_bytes, problem);
}

absl::Status NoSuchFact(const FactPlace& place) { return absl::NotFoundError(absl::StrCat(NameOf(place), ": found no such key")); }

}  // namespace tessera
