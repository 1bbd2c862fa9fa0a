#include "tessera/base/known_sum.h"

#include <sys/stat.h>
#include <time.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kMostRecordBytes = 1024;
constexpr int64_t kYoung = 2;   // Seconds: no file system's times are coarser.

std::string TextOf(const timespec& time) { return absl::StrCat(time.tv_sec, ".", time.tv_nsec); }

struct SeenFile {
  std::string name;    // The record's.
  std::string seen;    // The record's first line.
  bool young = false;
};

std::optional<SeenFile> See(const std::string& path) {
  struct stat found;
  timespec now;
  if (stat(path.c_str(), &found) != 0) return std::nullopt;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return std::nullopt;   // Real time, the clock of a file system's times.
  return SeenFile{.name = absl::StrCat(found.st_dev, "-", found.st_ino),
                  .seen = absl::StrCat("size ", found.st_size, " written ", TextOf(found.st_mtim), " changed ", TextOf(found.st_ctim)),
                  .young = found.st_ctim.tv_sec > now.tv_sec - kYoung};
}

std::optional<Sha256Sum> SumInRecord(const std::string& record, const SeenFile& file) {
  const absl::StatusOr<std::string> text = ReadFileToString(record, kMostRecordBytes);
  if (!text.ok()) return std::nullopt;
  const std::vector<absl::string_view> lines = absl::StrSplit(*text, '\n');
  if (lines.size() != 3 || lines[0] != file.seen || !lines[2].empty()) return std::nullopt;
  return Sha256Sum::Parse(lines[1]);
}

}  // namespace

absl::StatusOr<Sha256Sum> KnownSha256OfFile(const std::string& path, const std::string& folder) {
  const std::optional<SeenFile> before = See(path);
  const std::string record = before.has_value() ? (std::filesystem::path(folder) / before->name).string() : std::string();
  if (before.has_value()) {
    if (const std::optional<Sha256Sum> known = SumInRecord(record, *before); known.has_value()) return *known;
  }
  ASSIGN_OR_RETURN(const Sha256Sum sum, Sha256OfFile(path));
  const std::optional<SeenFile> after = See(path);
  if (!before.has_value() || before->young || !after.has_value() || after->name != before->name || after->seen != before->seen) return sum;
  std::error_code error;   // Without a folder, writing fails, and the sum is not kept.
  std::filesystem::create_directories(folder, error);
  WriteFileAtomically(record, absl::StrCat(before->seen, "\n", sum.Hex(), "\n")).IgnoreError();
  return sum;
}

}  // namespace tessera
