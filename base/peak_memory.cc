#include "tessera/base/peak_memory.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/base/file.h"
#include "tessera/base/internal/process_status.h"

namespace tessera {
namespace {

constexpr char kStatus[] = "/proc/self/status";

void WriteKnown(JsonWriter& json, std::optional<int64_t> bytes) {
  if (bytes.has_value()) json.Int(*bytes); else json.Null();
}

}  // namespace

std::optional<int64_t> StatusField(const std::string& path, absl::string_view name) {
  const absl::StatusOr<std::string> status = ReadFileToString(path, 1 << 20);
  if (!status.ok()) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(*status, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    int64_t kilobytes;
    if (!absl::ConsumeSuffix(&line, "kB") || !absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &kilobytes)) return std::nullopt;
    return kilobytes * 1024;
  }
  return std::nullopt;
}

std::optional<int64_t> PeakMemoryBytes() { return StatusField(kStatus, "VmHWM:"); }

std::optional<int64_t> OwnMemoryBytes() {
  const std::optional<int64_t> anonymous = StatusField(kStatus, "RssAnon:"), shared = StatusField(kStatus, "RssShmem:");
  if (!anonymous.has_value() || !shared.has_value()) return std::nullopt;
  return *anonymous + *shared;
}

std::optional<int64_t> MappedFileBytes() { return StatusField(kStatus, "RssFile:"); }

void WriteMemory(JsonWriter& json) {
  WriteKnown(json.Key("peak_memory_bytes"), PeakMemoryBytes());
  WriteKnown(json.Key("mapped_file_bytes"), MappedFileBytes());
}

}  // namespace tessera
