#include "tessera/model/files/internal/gguf_split.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/gguf_bytes.h"

namespace tessera {

// The statements of a part about the part.
struct GgufSplit::PartNumber {
  uint64_t number;   // From 0.
  uint64_t count;
  uint64_t tensors;  // In all parts.

  std::string Suffix() const { return absl::StrFormat("-%05d-of-%05d.gguf", number + 1, count); }
};

namespace {

constexpr uint64_t kMostParts = 99999;  // The names have this many digits.

absl::Status WrongKey(const GgufFile& file, absl::string_view key, uint64_t found, absl::string_view expected) {
  return file.WrongValue(key, absl::StrCat("found ", found, ", expected ", expected));
}

absl::StatusOr<GgufSplit::PartNumber> ReadPartNumber(const GgufFile& file) {
  GgufSplit::PartNumber part;
  ASSIGN_OR_RETURN(part.count, file.Uint("split.count"));
  ASSIGN_OR_RETURN(part.number, file.Uint("split.no"));
  ASSIGN_OR_RETURN(part.tensors, file.Uint("split.tensors.count"));
  if (part.count > kMostParts) return WrongKey(file, "split.count", part.count, absl::StrCat("at most ", kMostParts));
  if (part.number >= part.count) {
    return WrongKey(file, "split.no", part.number, absl::StrCat("less than split.count, which is ", part.count));
  }
  return part;
}

// reason: "the name says" or the like.
absl::Status CheckSister(const GgufFile& file, const GgufSplit::PartNumber& expected, const char* reason) {
  ASSIGN_OR_RETURN(const GgufSplit::PartNumber found, ReadPartNumber(file));
  const auto check = [&file](const char* key, uint64_t found, uint64_t expected, const char* why) {
    return found == expected ? absl::OkStatus() : WrongKey(file, key, found, absl::StrCat(expected, ", as ", why));
  };
  RETURN_IF_ERROR(check("split.no", found.number, expected.number, reason));
  RETURN_IF_ERROR(check("split.count", found.count, expected.count, reason));
  return check("split.tensors.count", found.tensors, expected.tensors, "in the other parts");
}

// Checks that only the first part has facts about the model.
absl::Status CheckNoMetadata(const GgufFile& file) {
  for (const auto& [key, _] : file.metadata()) {
    if (absl::StartsWith(key, "split.") || key == "general.alignment") continue;
    return file.WrongValue(key, "found in a part after the first, expected split.* and general.alignment only");
  }
  return absl::OkStatus();
}

// Checks the total size. `size`: bytes of the parts so far, including `file`, the last.
absl::Status CheckSize(const GgufFile& file, int64_t size) {
  if (size <= GgufBytes::kLargestModel) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": size with the parts before it: found ", size,
                                                 " bytes, expected at most ", GgufBytes::kLargestModel));
}

}  // namespace

absl::StatusOr<bool> GgufSplit::IsPart(const GgufFile& file) {
  ASSIGN_OR_RETURN(const uint64_t parts, file.UintOr("split.count", 1));
  return parts > 1;
}

absl::StatusOr<std::unique_ptr<GgufFile>> GgufSplit::OpenSister(const std::string& path, const std::string& stem,
                                                                const PartNumber& sister) {
  const std::string sister_path = stem + sister.Suffix();
  absl::StatusOr<GgufBytes> bytes = GgufBytes::Open(sister_path);
  if (!bytes.ok()) {
    return absl::Status(bytes.status().code(), absl::StrCat(bytes.status().message(), ": part ", sister.number + 1, " of ",
                                                            sister.count, ", which must lie beside ", path));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> file, GgufFile::ParseBytes(*std::move(bytes), sister_path));
  RETURN_IF_ERROR(CheckSister(*file, sister, "the name says"));
  return file;
}

absl::StatusOr<std::unique_ptr<GgufFile>> GgufSplit::Join(std::unique_ptr<GgufFile> part) {
  ASSIGN_OR_RETURN(const PartNumber self, ReadPartNumber(*part));
  const std::string path = part->path();
  if (!absl::EndsWith(path, self.Suffix())) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": file name: found ", Quoted(path.substr(path.rfind('/') + 1)),
                                                   ", expected one that ends in ", self.Suffix(),
                                                   ", as split.no and split.count say"));
  }
  const std::string stem = path.substr(0, path.size() - self.Suffix().size());
  std::vector<std::unique_ptr<GgufFile>> parts;
  for (uint64_t number = 0; number < self.count; ++number) {
    if (number == self.number) {
      parts.push_back(std::move(part));
    } else {
      ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> sister, OpenSister(path, stem, {number, self.count, self.tensors}));
      parts.push_back(std::move(sister));
    }
  }
  return Unite(std::move(parts), self.tensors);
}

absl::StatusOr<std::unique_ptr<GgufFile>> GgufSplit::JoinHeaders(std::vector<std::unique_ptr<GgufFile>> parts,
                                                                 const std::string& name) {
  if (parts.empty()) return absl::InvalidArgumentError(absl::StrCat(name, ": headers: found none, expected 1 or more"));
  ASSIGN_OR_RETURN(const bool split, IsPart(*parts[0]));
  if (!split && parts.size() == 1) return std::move(parts[0]);
  ASSIGN_OR_RETURN(const PartNumber first, ReadPartNumber(*parts[0]));
  for (size_t number = 0; number < parts.size(); ++number) {
    RETURN_IF_ERROR(CheckSister(*parts[number], {number, parts.size(), first.tensors}, "the headers beside it say"));
  }
  return Unite(std::move(parts), first.tensors);
}

absl::StatusOr<std::unique_ptr<GgufFile>> GgufSplit::Unite(std::vector<std::unique_ptr<GgufFile>> parts, uint64_t tensors) {
  int64_t size = 0;
  for (size_t number = 0; number < parts.size(); ++number) {
    if (number > 0) RETURN_IF_ERROR(CheckNoMetadata(*parts[number]));
    size += parts[number]->size();
    RETURN_IF_ERROR(CheckSize(*parts[number], size));
  }
  std::unique_ptr<GgufFile> whole = std::move(parts[0]);
  whole->more_parts_.assign(std::make_move_iterator(parts.begin() + 1), std::make_move_iterator(parts.end()));
  for (int number = 1; number < whole->parts(); ++number) RETURN_IF_ERROR(TakeTensors(*whole, number));
  const size_t found = whole->tensors_.size() + whole->unread_tensors_.size();
  if (found == tensors) return whole;
  return WrongKey(*whole, "split.tensors.count", tensors, absl::StrCat(found, ", as many as the parts hold"));
}

absl::Status GgufSplit::TakeTensors(GgufFile& whole, int number) {
  const GgufFile& part = whole.Part(number);
  whole.unread_tensors_.insert(whole.unread_tensors_.end(), part.unread_tensors_.begin(), part.unread_tensors_.end());
  for (GgufTensor tensor : part.tensors_) {
    tensor.part = number;
    const auto [place, is_new] = whole.tensor_index_.emplace(tensor.name, whole.tensors_.size());
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat(part.path(), ": tensor ", Quoted(tensor.name), " data at byte ",
                                                     tensor.offset, ": found in ", whole.PathOf(whole.tensors_[place->second]),
                                                     " as well, expected each tensor once"));
    }
    whole.tensors_.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

}  // namespace tessera
