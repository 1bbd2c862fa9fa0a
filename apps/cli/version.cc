#include "tessera/apps/cli/version.h"

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/usage_error.h"
#include "tessera_version.h"

namespace tessera {
namespace {

std::string VersionText(absl::string_view program, KernelPath used) {
  std::string text = absl::StrCat(program, " ", TESSERA_VERSION, " (commit ", TESSERA_COMMIT, ")\nkernels:");
  for (KernelPath path : SupportedKernelPaths()) absl::StrAppend(&text, " ", KernelPathName(path));
  return absl::StrCat(text, "; used: ", KernelPathName(used), "\n");
}

std::string VersionJson(absl::string_view program, KernelPath used) {
  JsonWriter json;
  json.BeginObject();
  json.Key("program").String(program);
  json.Key("version").String(TESSERA_VERSION);
  json.Key("commit").String(TESSERA_COMMIT);
  json.Key("kernels").BeginArray();
  for (KernelPath path : SupportedKernelPaths()) json.String(KernelPathName(path));
  json.EndArray();
  json.Key("used_kernels").String(KernelPathName(used));
  json.EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace

absl::Status ShowVersion(absl::string_view program) {
  const absl::StatusOr<KernelPath> used = KernelPathFromName(FLAGS_kernels);
  if (!used.ok()) return ForField("kernels", used.status());
  return WriteOutput(FLAGS_json ? VersionJson(program, *used) : VersionText(program, *used));
}

}  // namespace tessera
