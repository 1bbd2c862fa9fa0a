// Families of models that people look for, and whether each family runs.
//
//   for (const ModelFamily& family : ModelFamilies()) Show(family.name, family.missing[0] == '\0' ? "works" : family.missing);
//
// Thread-safe (constant data).
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera {

struct ModelFamily {
  const char* name;          // The usual name.
  const char* architecture;  // The value of general.architecture.
  // The key, without prefix, whose value separates the family from others of the same architecture; empty: no key is needed.
  const char* key = "";
  const char* missing = "";  // Unsupported parts of the family, "experts; layer norms". Empty: the family works.
};

absl::Span<const ModelFamily> ModelFamilies();

// Returns the first family of an architecture that does not run; null if none is known.
const ModelFamily* FindMissingFamily(absl::string_view architecture);

}  // namespace tessera
