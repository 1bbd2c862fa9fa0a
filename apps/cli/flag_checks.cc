#include "tessera/apps/cli/flag_checks.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/file.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {

absl::Status CheckFlagRange(const char* flag, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return WrongUsage(flag, value, absl::StrCat(least, " to ", most));
}

absl::Status CheckNotBoth(const char* flag, bool on, const char* other, bool other_on) {
  if (!on || !other_on) return absl::OkStatus();
  return WrongUsage(flag, absl::StrCat("beside --", other), "one of them");
}

absl::Status CheckFlagWritable(const char* flag, const std::string& path) {
  return path.empty() ? absl::OkStatus() : ForField(flag, CheckWritable(path));
}

absl::StatusOr<std::vector<int>> AscendingOfFlag(const char* flag, const std::string& list, int most) {
  std::vector<int> numbers;
  for (absl::string_view item : absl::StrSplit(list, ',')) {
    int number = 0;
    if (!absl::SimpleAtoi(item, &number) || number > most || number <= (numbers.empty() ? 0 : numbers.back())) {
      return WrongUsage(flag, Quoted(item), absl::StrCat("whole numbers from 1 to ", most, " in ascending order"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

absl::StatusOr<BlockFormat> BlockFormatOfFlag(const char* flag, const std::string& name) {
  const absl::StatusOr<const BlockFormatInfo*> info = BlockFormatByName(name);
  RETURN_IF_ERROR(ForField(flag, info.status()));
  return (*info)->format;
}

}  // namespace tessera
