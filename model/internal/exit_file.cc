#include "tessera/model/internal/exit_file.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr absl::string_view kRows = "predictor.weight", kMap = "predictor.map";

absl::Status WrongText(const SafetensorsFile& file, absl::string_view key, const std::string* found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(file.path(), ": __metadata__ ", key, ": found ",
                                                 found == nullptr ? "none" : Quoted(*found), ", expected ", expected));
}

absl::Status CheckAlone(const SafetensorsFile& file, absl::string_view name) {
  for (const SafetensorsTensor& tensor : file.tensors()) {
    if (tensor.name != name) return file.WrongTensor(tensor.name, "", absl::StrCat("found it, expected ", name, " alone"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ExitText(const SafetensorsFile& file, absl::string_view key, absl::Span<const absl::string_view> expected) {
  const std::string* const found = file.FindMetadata(key);
  if (found != nullptr && std::find(expected.begin(), expected.end(), *found) != expected.end()) return *found;
  const auto quote = [](std::string* out, absl::string_view text) { absl::StrAppend(out, Quoted(text)); };
  return WrongText(file, key, found, absl::StrJoin(expected, " or ", quote));
}

absl::StatusOr<int> ExitNumber(const SafetensorsFile& file, absl::string_view key, int least, int most) {
  const std::string* const found = file.FindMetadata(key);
  int number = 0;
  if (found != nullptr && absl::SimpleAtoi(*found, &number) && number >= least && number <= most) return number;
  const std::string only = absl::StrCat("\"", least, "\"");
  return WrongText(file, key, found, least == most ? only : absl::StrCat(only, " to \"", most, "\""));
}

absl::StatusOr<const SafetensorsTensor*> FindExitRows(const SafetensorsFile& file, int64_t vocabulary, int64_t width) {
  RETURN_IF_ERROR(CheckAlone(file, kRows));
  return FindShaped(file, kRows, {vocabulary, width});
}

absl::StatusOr<FileMatrix> ReadExitMap(const SafetensorsFile& file, int64_t width) {
  RETURN_IF_ERROR(CheckAlone(file, kMap));
  return ReadFileMatrix(file, kMap, width, width);
}

}  // namespace tessera
