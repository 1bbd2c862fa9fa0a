#include "tessera/base/peak_memory.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/base/file.h"

namespace tessera {

namespace {

// The bytes of a line such as "VmHWM:     123 kB"; 0 if there is none.
int64_t StatusField(absl::string_view name) {
  const absl::StatusOr<std::string> status = ReadFileToString("/proc/self/status", 1 << 20);
  if (!status.ok()) return 0;
  for (absl::string_view line : absl::StrSplit(*status, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    int64_t kilobytes;
    if (!absl::ConsumeSuffix(&line, "kB") || !absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &kilobytes)) return 0;
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

int64_t PeakMemoryBytes() { return StatusField("VmHWM:"); }

int64_t OwnMemoryBytes() { return StatusField("RssAnon:") + StatusField("RssShmem:"); }

}  // namespace tessera
