#include "tessera/base/cpu_quota.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/file.h"

namespace tessera {
namespace {

constexpr int64_t kMostFileBytes = 1 << 16;

std::string ReadIfThere(const std::string& path) { return ReadFileToString(path, kMostFileBytes).value_or(""); }

std::optional<double> Share(absl::string_view quota, absl::string_view period) {
  int64_t granted, of;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(quota), &granted) || !absl::SimpleAtoi(absl::StripAsciiWhitespace(period), &of)) {
    return std::nullopt;  // "max", or no such file.
  }
  if (granted <= 0 || of <= 0) return std::nullopt;  // -1: no limit.
  return static_cast<double>(granted) / static_cast<double>(of);
}

// One group's. Version 2: "150000 100000" or "max 100000" in one file; version 1: two files.
std::optional<double> QuotaOf(const std::string& folder) {
  const std::vector<std::string> both = absl::StrSplit(ReadIfThere(folder + "/cpu.max"), ' ');
  if (both.size() == 2) return Share(both[0], both[1]);
  return Share(ReadIfThere(folder + "/cpu.cfs_quota_us"), ReadIfThere(folder + "/cpu.cfs_period_us"));
}

// Returns the least quota of a group and the groups around that group. In a container the path may be the path outside the container. Then
// only the top exists, which is the container's own group.
std::optional<double> LeastQuota(const std::string& top, std::string path) {
  std::optional<double> least;
  while (true) {
    const std::optional<double> quota = QuotaOf(top + path);
    if (quota.has_value()) least = std::min(least.value_or(*quota), *quota);
    if (path.empty()) return least;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

}  // namespace

std::optional<double> CpuQuota(const std::string& proc, const std::string& groups) {
  std::optional<double> least;
  const std::string lines = ReadIfThere(proc + "/self/cgroup");
  for (absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {  // "4:cpu,cpuacct:/a/b", or "0::/a/b" of version 2.
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (!parts[1].empty() && !absl::c_linear_search(controllers, "cpu")) continue;
    const std::string path = parts[2] == "/" ? "" : parts[2];
    const std::vector<std::string> tops =
        parts[1].empty() ? std::vector<std::string>{"", "/unified"} : std::vector<std::string>{"/" + parts[1], "/cpu"};
    for (const std::string& top : tops) {
      const std::optional<double> quota = LeastQuota(groups + top, path);
      if (quota.has_value()) least = std::min(least.value_or(*quota), *quota);
    }
  }
  return least;
}

int ThreadsForQuota(double quota) { return static_cast<int>(std::clamp(std::floor(quota), 1.0, 1e6)); }

}  // namespace tessera
