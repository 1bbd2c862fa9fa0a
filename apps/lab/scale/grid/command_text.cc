#include "tessera/apps/lab/scale/grid/command_text.h"

#include <algorithm>

#include <gflags/gflags.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/apps/cli/flags/flags.h"

namespace tessera {

std::string CommandText(const AppInfo& info) {
  std::string text = info.FullName();
  for (const FlagGroup& group : info.groups) {
    for (const std::string& flag : group.flags) {
      if (!IsGiven(flag)) continue;
      const gflags::CommandLineFlagInfo given = gflags::GetCommandLineFlagInfoOrDie(flag.c_str());
      if (given.type == "bool" && given.current_value == "true") {
        absl::StrAppend(&text, " --", flag);
      } else {
        absl::StrAppend(&text, " --", flag, "=", ShellWord(given.current_value));
      }
    }
  }
  return text;
}

std::string ShellWord(absl::string_view text) {
  constexpr absl::string_view kPlain = "_-+./:,=@%";
  const auto is_plain = [&](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || kPlain.find(c) != kPlain.npos; };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace tessera
