// Statistics of activations: for each matrix of a model and each input of the matrix, the mean square over a pass of text. The cost of a
// wrong weight grows with the size of the weight's input, so a search for scales weighs errors by these statistics.
//
//   ASSIGN_OR_RETURN(const Importance importance, Importance::Read("statistics.gguf"));
//   RETURN_IF_ERROR(importance.CheckFits(*file, config));                          // statistics of another model are refused
//   absl::Span<const float> squares = importance.Of("blk.0.ffn_up.weight");        // one per input; empty: not known
//
// tessera_statistics collects the statistics. Other programs write the same files as an "importance matrix". The GGUF form is read and
// written, and the older binary form (.dat, .imatrix) is read. The first bytes decide the form, not the name.
//
// A file is hostile until checked. Errors: InvalidArgument with file, entry or tensor, the value found and the value expected; the errors
// of GgufFile for a GGUF file.
//
// Threads: thread-compatible.
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
    std::vector<float> mean_squares = {};  // [in_features]. In early files of the older form: all times one factor.
    int64_t rows = 0;                      // Rows in the mean; the older form counts chunks of text instead.
  };
  // The texts behind the statistics, for people.
  struct Text {
    std::vector<std::string> datasets = {};
    uint32_t chunks = 0;
    uint32_t chunk_size = 0;               // Tokens; 0: unknown.
  };
  // Tells models apart regardless of the matrices' format: vectors (norms, biases) are the same numbers in each format.
  struct ModelMark {
    std::string name = {};                 // general.name, for people.
    uint32_t vectors = 0;                  // CRC-32C of all vectors as FP32, in the order of AllNeeds.
    friend bool operator==(const ModelMark&, const ModelMark&) = default;
  };

  // Reads a file of either form. Returns NotFound for a missing file; ResourceExhausted for a file of the older form above 256 MiB.
  static absl::StatusOr<Importance> Read(const std::string& path);
  // Returns the mark of a model. REQUIRES: the data of the model's tensors can be read. Returns the errors of FindNeeded and
  // GgufFile::Read.
  static absl::StatusOr<ModelMark> MarkOf(const GgufFile& model, const ModelConfig& config);

  // Adds an entry. Returns InvalidArgument (tensor, found, expected) if the tensor has an entry already, or unless the entry has inputs and
  // rows, and all numbers are finite and at least 0.
  absl::Status Add(absl::string_view tensor, Entry entry);
  void SetText(Text text) { text_ = std::move(text); }
  void SetMark(ModelMark mark) { mark_ = std::move(mark); }

  // Returns the entries by tensor, "blk.0.ffn_up.weight", in the order of names.
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const Text& text() const { return text_; }
  const std::optional<ModelMark>& mark() const { return mark_; }   // nullopt: the file does not name the model.
  // Returns the mean squares of a tensor's inputs, valid while this object lives unchanged. All may be 0. Empty: unknown.
  absl::Span<const float> Of(absl::string_view tensor) const;

  // Returns OK if the statistics belong to this model, as far as can be checked: each matrix of each layer has an entry; each entry belongs
  // to a matrix of the model (embedding table and head may have one) with the same number of inputs; the mark, if present, is the model's.
  // Otherwise returns InvalidArgument (file, tensor, found, expected) for the first difference.
  absl::Status CheckFits(const GgufFile& model, const ModelConfig& config) const;

  // Writes the GGUF form, whole or not at all. Returns the errors of GgufWriter; InvalidArgument (tensor, input) for a sum beyond FP32.
  absl::Status Write(const std::string& path) const;

 private:
  absl::Status WrongTensor(absl::string_view tensor, absl::string_view problem) const;

  std::string path_ = "statistics";        // For messages.
  std::map<std::string, Entry> entries_;
  Text text_;
  std::optional<ModelMark> mark_;
};

}  // namespace tessera
