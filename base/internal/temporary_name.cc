#include "tessera/base/internal/temporary_name.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "tessera/base/crc32c.h"

namespace tessera {
namespace {

constexpr absl::string_view kBegin = ".tessera-", kEnd = ".tmp";
constexpr size_t kMostOfFile = 56;   // With two numbers of 20 digits and the rest, a name stays below kLongestTemporaryName.

// Returns the first bytes of the name, without a partial UTF-8 character at the end: some file systems refuse partial characters.
absl::string_view BeginOf(absl::string_view file) {
  size_t size = std::min(file.size(), kMostOfFile);
  while (size > 0 && size < file.size() && (static_cast<unsigned char>(file[size]) & 0xC0) == 0x80) --size;
  return file.substr(0, size);
}

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

}  // namespace

std::string TemporaryName(absl::string_view file, int64_t process, int64_t number) {
  const absl::string_view begin = BeginOf(file);
  const std::string summed = absl::StrCat(process, "-", number, "-", begin, "-", HostName());
  const uint32_t sum = Crc32c({reinterpret_cast<const std::byte*>(summed.data()), summed.size()});
  return absl::StrCat(kBegin, process, "-", number, "-", absl::Hex(sum, absl::kZeroPad8), "-", begin, kEnd);
}

bool IsTemporaryName(absl::string_view name) {
  absl::string_view rest = name;
  if (!absl::ConsumePrefix(&rest, kBegin) || !absl::ConsumeSuffix(&rest, kEnd)) return false;
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('-', 3));
  int64_t process = 0, number = 0;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[0], &process) || !absl::SimpleAtoi(parts[1], &number)) return false;
  return TemporaryName(parts[3], process, number) == name;
}

}  // namespace tessera
