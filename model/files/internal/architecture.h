// The registry of architectures: one file each in this folder, one line each in TESSERA_ARCHITECTURES.
//
//   ASSIGN_OR_RETURN(const Architecture* architecture, FindArchitecture("qwen3"));
//   ASSIGN_OR_RETURN(ModelConfig config, architecture->configure(file));
//
// An architecture reads its metadata keys and says which parts its layers have; model/block_graph turns that into operators. Keys that
// decoders share are judged by DecoderKeys(); where an architecture differs it has rows of its own. It also says which biases its files
// may have, and which tensors they may hold that change no text: a file with any other tensor is refused (internal/tensor_check.h).
// docs/adding_an_architecture.md has the steps. Thread-safe (constant data).
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/internal/key_rules.h"

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
  KeyRules keys = {};  // Its keys, as "<name>.*", before those of DecoderKeys().
};

// Why a tensor of that name changes no text of this architecture's models; empty if it might. The second: of any architecture's models,
// where it is not known yet which this is.
absl::string_view WhyHarmless(absl::string_view architecture, absl::string_view tensor);
bool HarmlessForSome(absl::string_view tensor);

// NotFound, with the known names and, if it is a known family's, with what that has beyond them.
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

// What files of an architecture mean where they do not say.
struct FileDefaults {
  int window_period = 0;        // Where there is a window, the last of so many layers has none. 0: the file must say which have one.
  double window_rope_base = 0;  // RoPE base of layers with a window; 0: they turn as the others do.
  double rope_base = 10'000;    // RoPE base of the others: that of llama.cpp and of the first models.
  double norm_epsilon = 0;      // Epsilon of norms; 0: the file must say.
};

// What most decoders share: sizes, epsilon, RoPE base and scaling, windows from "<name>.*" keys, a tied head where output.weight is
// missing. All layers are alike, but for windows. Architectures start from it and change what differs.
absl::StatusOr<ModelConfig> ReadCommonConfig(const GgufFile& file, absl::string_view name, const FileDefaults& defaults = {});

// The layers' windows, for ReadCommonConfig: the last step.
absl::Status ReadWindows(const GgufFile& file, const FileDefaults& defaults, ModelConfig& config);

// The part of a model that no decoder here has and a tensor of that name shows, in words: "experts". Empty if it shows none.
absl::string_view PartShownBy(absl::string_view tensor);

// The number under one of two keys, of which files may have both if they agree.
absl::StatusOr<double> FloatOfEither(const GgufFile& file, absl::string_view key, absl::string_view other, double otherwise);

}  // namespace tessera
