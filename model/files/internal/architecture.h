// The registry of architectures: one file each in this folder, one line each in TESSERA_ARCHITECTURES.
//
//   ASSIGN_OR_RETURN(const Architecture* architecture, FindArchitecture("qwen3"));
//   ASSIGN_OR_RETURN(ModelConfig config, architecture->configure(file));
//
// An architecture reads its metadata keys and says which parts its layers have; model/block_graph turns that into operators. It also says
// which biases its files may have, and which tensors they may hold that change no text: a file with any other tensor is refused
// (model/files/internal/tensor_check.h).
// docs/adding_an_architecture.md has the steps. Thread-safe (constant data).
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/files/config.h"

namespace tessera {

// The biases that files of an architecture may have, each or none. ReadModelConfig notes those that are there.
struct OptionalBiases {
  LayerBiases layer = {};
  bool head = false;
};

// Tensors that files hold and no text depends on: all whose names begin and end like this.
struct HarmlessTensors {
  absl::string_view begin, end;
  absl::string_view reason;  // "the image tower, through which no text passes": what they are, and why no text depends on them.
};

struct Architecture {
  const char* name;   // The value of general.architecture.
  absl::StatusOr<ModelConfig> (*configure)(const GgufFile& file);
  OptionalBiases biases = {};
  absl::Span<const HarmlessTensors> harmless = {};  // Beside those of all architectures.
};

// Why a tensor of that name changes no text of this architecture's models; empty if it might. The second: of any architecture's models,
// where it is not known yet which this is.
absl::string_view WhyHarmless(absl::string_view architecture, absl::string_view tensor);
bool HarmlessForSome(absl::string_view tensor);

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
