// The registry of architectures: one file each in this folder, one line each in TESSERA_ARCHITECTURES.
//
//   ASSIGN_OR_RETURN(const Architecture* architecture, FindArchitecture("qwen3"));
//   ASSIGN_OR_RETURN(ModelConfig config, architecture->configure(file));
//
// An architecture reads its metadata keys and says which parts its layers have; model/block_graph turns that into operators.
// docs/adding_an_architecture.md has the steps. Thread-safe (constant data).
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/files/config.h"

namespace tessera {

struct Architecture {
  const char* name;   // The value of general.architecture.
  absl::StatusOr<ModelConfig> (*configure)(const GgufFile& file);
};

// NotFound, with the known names.
absl::StatusOr<const Architecture*> FindArchitecture(absl::string_view name);

// The constants that the architectures' files define, one line each.
#define TESSERA_ARCHITECTURES(architecture) \
  architecture(kLlama)                      \
  architecture(kQwen2)                      \
  architecture(kQwen3)                      \
  architecture(kGemma3)

#define TESSERA_DECLARE_ARCHITECTURE(constant) extern const Architecture constant;
TESSERA_ARCHITECTURES(TESSERA_DECLARE_ARCHITECTURE)
#undef TESSERA_DECLARE_ARCHITECTURE

// What most decoders share: sizes, epsilon, RoPE base and scaling from "<name>.*" keys, a tied head where output.weight is missing.
// All layers are alike: full attention, rope 0. Architectures start from it and change what differs.
absl::StatusOr<ModelConfig> ReadCommonConfig(const GgufFile& file, absl::string_view name);

}  // namespace tessera
