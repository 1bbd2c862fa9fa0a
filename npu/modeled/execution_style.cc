#include "tessera/npu/modeled/execution_style.h"

#include <string>


#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tessera {

absl::Span<const ExecutionStyle> ExecutionStyles() {
  static constexpr ExecutionStyle kStyles[] = {
      {.name = "operators"},
      {.name = "static", .static_graphs = true, .plain_matrices = ComputePlace::kNpu, .key_value_bytes = 1},
      {.name = "unshared",
       .static_graphs = true,
       .shared_weights = false,
       .attention = ComputePlace::kCpu,
       .plain_matrices = ComputePlace::kCpu,
       .key_value_bytes = 2},
  };
  return kStyles;
}

absl::StatusOr<ExecutionStyle> ExecutionStyleByName(absl::string_view name) {
  for (const ExecutionStyle& style : ExecutionStyles()) {
    if (name == style.name) return style;
  }
  return absl::NotFoundError(absl::StrCat("execution style: found ", name, ", expected ",
                                          absl::StrJoin(ExecutionStyles(), ", ", [](std::string* out, const ExecutionStyle& style) {
                                            absl::StrAppend(out, style.name);
                                          })));
}

}  // namespace tessera
