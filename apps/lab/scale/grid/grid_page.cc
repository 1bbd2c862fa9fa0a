#include "tessera/apps/lab/scale/grid/grid_page.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/grid/grid_folder.h"
#include "tessera/apps/lab/scale/grid/grid_report.h"
#include "tessera/base/quoted.h"
#include "tessera/base/same_file.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr char kStart[] = "<!DOCTYPE html>";   // GridReportHtml's, too.

}  // namespace

absl::Status CheckGridPage(const std::string& path, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (!LiesIn(folder, path) || IsSameFile(path, GridPagePath(folder))) continue;
    return WrongUsage("report", absl::StrCat(path, ", a file of the grid in ", folder), "another file");
  }
  RETURN_IF_ERROR(ForFile("report", CheckTextFileWritable(path)));
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return absl::OkStatus();   // A FIFO would wait.
  if (IsOpenAs(STDOUT_FILENO, path) || IsOpenAs(STDERR_FILENO, path)) return absl::OkStatus();   // The stream is appended to.
  std::ifstream file(path, std::ios::binary);
  std::string start(sizeof(kStart) - 1, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(file.gcount()));
  if (start.empty() || start == kStart) return absl::OkStatus();
  return WrongUsage("report", absl::StrCat(path, ", a file that begins with ", Quoted(start)), "a page of HTML, or a new file");
}

absl::Status WriteGridPage(const std::string& path, const GridView& view) { return WriteTextFile(path, GridReportHtml(view)); }

}  // namespace tessera
