// The registry of architectures: one file each in this folder, one line each in TESSERA_ARCHITECTURES.
//
//   ASSIGN_OR_RETURN(const Architecture* architecture, FindArchitecture("qwen3"));
//   ASSIGN_OR_RETURN(ModelConfig config, architecture->configure(file));
//
// An architecture reads its metadata keys and decides which parts its layers have. model/block_graph turns the parts into operators.
// DecoderKeys() judges keys that decoders share. An architecture with differences adds rows of its own. An architecture also lists the
// optional biases of its files, and the tensors in its files that change no text: a file with any other tensor is refused
// (internal/tensor_check.h). docs/adding_an_architecture.md has the steps. Thread-safe (constant data).
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/internal/key_rules.h"

namespace tessera {

// The biases that files of an architecture may have, each optional. ReadModelConfig records the biases that are present.
struct OptionalBiases {
  LayerBiases layer = {};
  bool head = false;
};

// Tensors that files hold and no text depends on: all tensors whose names begin and end like this.
struct HarmlessTensors {
  absl::string_view begin, end;
  // "the image tower, through which no text passes": the kind of tensors, and the reason why no text depends on the tensors.
  absl::string_view reason;
};

struct Architecture {
  const char* name;   // The value of general.architecture.
  absl::StatusOr<ModelConfig> (*configure)(const GgufFile& file);
  OptionalBiases biases = {};
  absl::Span<const HarmlessTensors> harmless = {};  // In addition to the tensors of all architectures.
  KeyRules keys = {};  // The architecture's keys, as "<name>.*", judged before DecoderKeys().
};

// Returns the reason why a tensor of this name changes no text of this architecture's models; empty if the tensor might. HarmlessForSome:
// true if the tensor changes no text of some architecture's models, for use while the architecture is unknown.
absl::string_view WhyHarmless(absl::string_view architecture, absl::string_view tensor);
bool HarmlessForSome(absl::string_view tensor);

// Returns NotFound, with the known names. For a known family, the error also names the family's parts beyond the known architectures.
absl::StatusOr<const Architecture*> FindArchitecture(absl::string_view name);
absl::Span<const Architecture* const> Architectures();

// The constants that the architectures' files define, one line each.
#define TESSERA_ARCHITECTURES(architecture) \
  architecture(kLlama)                      \
  architecture(kQwen2)                      \
  architecture(kQwen3)                      \
  architecture(kGemma3)

#define TESSERA_DECLARE_ARCHITECTURE(constant) extern const Architecture constant;
TESSERA_ARCHITECTURES(TESSERA_DECLARE_ARCHITECTURE)
#undef TESSERA_DECLARE_ARCHITECTURE

// The defaults of an architecture's files.
struct FileDefaults {
  // If there is a window, the last of each `window_period` layers has none. 0: the file must name the layers with a window.
  int window_period = 0;
  double window_rope_base = 0;  // RoPE base of layers with a window; 0: the base of the other layers.
  double rope_base = 10'000;    // RoPE base of the other layers: as in llama.cpp and in the first models.
  double norm_epsilon = 0;      // Epsilon of norms; 0: the file must have an epsilon.
};

// Reads the parts that most decoders share: sizes, epsilon, RoPE base and scaling, windows from "<name>.*" keys, a tied head if
// output.weight is missing. All layers are alike, except for windows. Architectures start from this configuration and change the
// differences.
absl::StatusOr<ModelConfig> ReadCommonConfig(const GgufFile& file, absl::string_view name, const FileDefaults& defaults = {});

// Reads the layers' windows, as the last step of ReadCommonConfig.
absl::Status ReadWindows(const GgufFile& file, const FileDefaults& defaults, ModelConfig& config);

// Returns the part of a model that no decoder here has and that a tensor of this name shows, in words: "experts". Empty: the tensor shows
// none.
absl::string_view PartShownBy(absl::string_view tensor);

// Returns the number under one of two keys. A file may have both keys if the numbers agree.
absl::StatusOr<double> FloatOfEither(const GgufFile& file, absl::string_view key, absl::string_view other, double otherwise);

}  // namespace tessera
