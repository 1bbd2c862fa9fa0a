#include "tessera/model/internal/pass_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// Limits of the paths in a group of the cache.
struct PathLimits {
  int slots = 0;
  int64_t window = 0;   // The longest window of the group's layers.
};

PathLimits LimitsOf(const ModelConfig& config, const KvCache& cache, int group) {
  PathLimits limits;
  for (size_t layer = 0; layer < config.layers.size(); ++layer) {
    if (cache.GroupOf(static_cast<int>(layer)) != group) continue;
    if (limits.slots == 0) limits.slots = cache.View(static_cast<int>(layer)).slots();
    const int window = config.layers[layer].window;
    limits.window = std::max<int64_t>(limits.window, window == 0 ? kAllPositions : window);
  }
  return limits;
}

// Checks a path. Positions that are not held lie before every window.
absl::Status CheckPath(int64_t row, SlotPath path, const PathLimits& limits) {
  if (path[0].begin == kNoSlot) {
    const int64_t before = PathLength(path) - limits.window;
    if (path[0].count < 1 || path[0].count > before) {
      return RowError(row, "positions without slots", path[0].count,
                      before < 1 ? "none" : absl::StrCat("1 to ", before, ", before the window"));
    }
    path.remove_prefix(1);
  }
  for (const SlotRange& range : path) {
    const int64_t last = int64_t{range.begin} + range.count - 1;
    if (range.begin >= 0 && range.count >= 1 && last < limits.slots) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("row ", row, ": slots of its path: found ", range.begin, " to ", last, ", expected 0 to ", limits.slots - 1));
  }
  const int64_t held = PathLength(path);
  if (held >= 1 && held <= limits.slots) return absl::OkStatus();
  return RowError(row, "slots of its path", held, absl::StrCat("1 to ", limits.slots, " of them"));
}

absl::Status CheckPaths(int64_t number, const PassRow& row, absl::Span<const PathLimits> limits) {
  const int64_t paths = static_cast<int64_t>(row.paths.size()), groups = static_cast<int64_t>(limits.size());
  if (paths != groups) return RowError(number, "paths", paths, absl::StrCat(groups, ", one for each group of layers"));
  const int64_t expected = PathLength(row.paths[0]);
  for (size_t group = 0; group < limits.size(); ++group) {
    const SlotPath path = row.paths[group];
    const int64_t length = PathLength(path);
    if (length < 1 || length > kAllPositions) return RowError(number, "path length", length, absl::StrCat("1 to ", kAllPositions));
    if (length != expected) return RowError(number, "path length", length, absl::StrCat(expected, ", that of its first path"));
    RETURN_IF_ERROR(CheckPath(number, path, limits[group]));
  }
  return absl::OkStatus();
}

absl::Status CheckAdapter(int64_t row, const LoraAdapter& adapter, const ModelConfig& config) {
  const absl::Status fits = adapter.CheckFits(config);
  return fits.ok() ? fits : absl::Status(fits.code(), absl::StrCat("row ", row, ": ", fits.message()));
}

}  // namespace

absl::Status RowError(int64_t row, absl::string_view what, int64_t found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("row ", row, ": ", what, ": found ", found, ", expected ", expected));
}

absl::Status CheckPassRows(absl::Span<const PassRow> rows, const ModelConfig& config, const KvCache& cache, int most_rows) {
  if (rows.size() > static_cast<size_t>(most_rows)) {
    return absl::InvalidArgumentError(absl::StrCat("rows of a pass: found ", rows.size(), ", expected at most ", most_rows));
  }
  absl::InlinedVector<PathLimits, 4> limits;
  for (int group = 0; group < cache.groups(); ++group) limits.push_back(LimitsOf(config, cache, group));
  const LoraAdapter* fits = nullptr;
  for (int64_t number = 0; number < static_cast<int64_t>(rows.size()); ++number) {
    const PassRow& row = rows[static_cast<size_t>(number)];
    if (row.embedding == nullptr && (row.token < 0 || row.token >= config.vocabulary)) {
      return RowError(number, "token", row.token, absl::StrCat("0 to ", config.vocabulary - 1));
    }
    if (row.position < PassRow::kOwnPosition || row.position >= kAllPositions) {
      return RowError(number, "position", row.position, absl::StrCat("-1 (its own) to ", kAllPositions - 1));
    }
    if (row.adapter != nullptr && row.adapter != fits) RETURN_IF_ERROR(CheckAdapter(number, *row.adapter, config));
    fits = row.adapter;
    RETURN_IF_ERROR(CheckPaths(number, row, limits));
  }
  return absl::OkStatus();
}

}  // namespace tessera
