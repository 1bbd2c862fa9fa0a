// Statistics of activations: for each matrix of a model and each of its inputs, the mean square of what a pass over text gave it. A wrong
// weight costs as much as its input is large, so a search for scales weighs errors by these.
//
//   ASSIGN_OR_RETURN(const Importance importance, Importance::Read("statistics.gguf"));
//   RETURN_IF_ERROR(importance.CheckFits(*file, config));                          // statistics of another model are refused
//   absl::Span<const float> squares = importance.Of("blk.0.ffn_up.weight");        // one per input; empty: not known
//
// tessera_quantize statistics collects them. Files are those of the "importance matrix" that other programs make, too: the GGUF form is
// read and written, the older binary form (.dat, .imatrix) is read; the first bytes decide which, not the name. A file is hostile until
// checked: errors are InvalidArgument with file, entry or tensor, the value found and the value expected; those of GgufFile for a GGUF
// file. Thread-compatible.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

class Importance {
 public:
  struct Entry {
    std::vector<float> mean_squares = {};  // [in_features]. In early files of the older form all times one factor.
    int64_t rows = 0;                      // Over which the mean is taken; the older form counts chunks of text instead.
  };
  // What was read to collect them, for people.
  struct Text {
    std::vector<std::string> datasets = {};
    uint32_t chunks = 0;
    uint32_t chunk_size = 0;               // Tokens; 0: not known.
  };
  // Tells models apart, whatever their matrices' format: vectors (norms, biases) are the same numbers in each.
  struct ModelMark {
    std::string name = {};                 // general.name, for people.
    uint32_t vectors = 0;                  // CRC-32C of all vectors as FP32, in the order of AllNeeds.
    friend bool operator==(const ModelMark&, const ModelMark&) = default;
  };

  // Reads a file of either form. NotFound if there is none; ResourceExhausted for one of the older form above 256 MiB.
  static absl::StatusOr<Importance> Read(const std::string& path);
  // REQUIRES: the data of the model's tensors can be read. The errors of FindNeeded and GgufFile::Read.
  static absl::StatusOr<ModelMark> MarkOf(const GgufFile& model, const ModelConfig& config);

  // InvalidArgument (tensor, found, expected) if the tensor has an entry already, or unless the entry has inputs and rows, and all its
  // numbers are finite and at least 0.
  absl::Status Add(absl::string_view tensor, Entry entry);
  void SetText(Text text) { text_ = std::move(text); }
  void SetMark(ModelMark mark) { mark_ = std::move(mark); }

  // By tensor, "blk.0.ffn_up.weight", in the order of names.
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const Text& text() const { return text_; }
  const std::optional<ModelMark>& mark() const { return mark_; }   // nullopt: the file does not say which model's they are.
  // The mean squares of a tensor's inputs, while this lives unchanged; they may all be 0. Empty: not known.
  absl::Span<const float> Of(absl::string_view tensor) const;

  // OK if they are this model's, as far as can be told: each matrix of each layer has an entry, each entry is of a matrix of the model
  // (embedding table and head may have one) and has as many inputs, and the mark, if there is one, is the model's. InvalidArgument (file,
  // tensor, found, expected) names the first difference.
  absl::Status CheckFits(const GgufFile& model, const ModelConfig& config) const;

  // Writes the GGUF form, whole or not at all. The errors of GgufWriter; InvalidArgument (tensor, input) for a sum beyond FP32.
  absl::Status Write(const std::string& path) const;

 private:
  absl::Status WrongTensor(absl::string_view tensor, absl::string_view problem) const;

  std::string path_ = "statistics";        // For messages.
  std::map<std::string, Entry> entries_;
  Text text_;
  std::optional<ModelMark> mark_;
};

}  // namespace tessera
