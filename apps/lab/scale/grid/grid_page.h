// Where the page of grids is written.
//
//   RETURN_IF_ERROR(CheckGridPage(FLAGS_report, {"grid_135m", "grid_360m"}));        // before long work
//   RETURN_IF_ERROR(WriteGridPage(FLAGS_report, view));
//
// Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tessera/apps/lab/scale/grid/grid_view.h"

namespace tessera {

// WrongUsage (report) for a path that cannot be written, for a file in one of the folders that is not its page, and for any other file that
// has something else than a page of HTML.
absl::Status CheckGridPage(const std::string& path, const std::vector<std::string>& folders);

absl::Status WriteGridPage(const std::string& path, const GridView& view);

}  // namespace tessera
