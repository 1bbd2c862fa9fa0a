// Writes the page of grids.
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

// Checks that the page may be written to `path`. WrongUsage (report) for a path that cannot be written, for a file in one of the folders
// other than the folder's page, and for any other file with content other than a page of HTML.
absl::Status CheckGridPage(const std::string& path, const std::vector<std::string>& folders);

absl::Status WriteGridPage(const std::string& path, const GridView& view);

}  // namespace tessera
