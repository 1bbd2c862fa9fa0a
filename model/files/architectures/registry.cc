#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/architecture.h"

namespace tessera {
namespace {

#define TESSERA_ADDRESS_OF(constant) &constant,
const Architecture* const kArchitectures[] = {TESSERA_ARCHITECTURES(TESSERA_ADDRESS_OF)};
#undef TESSERA_ADDRESS_OF

}  // namespace

absl::StatusOr<const Architecture*> FindArchitecture(absl::string_view name) {
  for (const Architecture* architecture : kArchitectures) {
    if (name == architecture->name) return architecture;
  }
  const auto append_name = [](std::string* out, const Architecture* a) { absl::StrAppend(out, a->name); };
  return absl::NotFoundError(
      absl::StrCat("found ", Quoted(name), ", expected one of ", absl::StrJoin(kArchitectures, ", ", append_name)));
}

absl::StatusOr<ModelConfig> ReadModelConfig(const GgufFile& file) {
  ASSIGN_OR_RETURN(const absl::string_view name, file.String("general.architecture"));
  const absl::StatusOr<const Architecture*> architecture = FindArchitecture(name);
  if (!architecture.ok()) return file.WrongValue("general.architecture", architecture.status().message());
  return (*architecture)->configure(file);
}

}  // namespace tessera
