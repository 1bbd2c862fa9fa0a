// Families of models that people look for, and which of them run.
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
  const char* name;          // As people call it.
  const char* architecture;  // The value of general.architecture.
  const char* key = "";      // The key, without prefix, whose value tells it from others of the same architecture; empty: none is needed.
  const char* missing = "";  // What it has that is not supported here, "experts; layer norms". Empty: it works.
};

absl::Span<const ModelFamily> ModelFamilies();

// The first family of an architecture that does not run; null if none is known.
const ModelFamily* FindMissingFamily(absl::string_view architecture);

}  // namespace tessera
