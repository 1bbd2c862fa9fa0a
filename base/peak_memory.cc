#include "tessera/base/peak_memory.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/base/file.h"

namespace tessera {

int64_t PeakMemoryBytes() {
  const absl::StatusOr<std::string> status = ReadFileToString("/proc/self/status", 1 << 20);
  if (!status.ok()) return 0;
  for (absl::string_view line : absl::StrSplit(*status, '\n')) {
    if (!absl::ConsumePrefix(&line, "VmHWM:")) continue;
    int64_t kilobytes;
    if (!absl::ConsumeSuffix(&line, "kB") || !absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &kilobytes)) return 0;
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace tessera
