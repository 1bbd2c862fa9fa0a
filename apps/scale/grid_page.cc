#include "tessera/apps/scale/grid_page.h"

#include "absl/strings/str_cat.h"
#include "tessera/apps/scale/grid_folder.h"
#include "tessera/apps/scale/grid_report.h"
#include "tessera/base/same_file.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/usage_error.h"

namespace tessera {

absl::Status CheckGridPage(const std::string& path, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (!LiesIn(folder, path) || IsSameFile(path, GridPagePath(folder))) continue;
    return WrongUsage("report", absl::StrCat(path, ", a file of the grid in ", folder), "another file");
  }
  return ForFile("report", CheckTextFileWritable(path));
}

absl::Status WriteGridPage(const std::string& path, const GridView& view) { return WriteTextFile(path, GridReportHtml(view)); }

}  // namespace tessera
