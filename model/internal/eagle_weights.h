// Reads and checks the files of an EAGLE-3 head: configuration, matrices and vocabulary.
//
//   ASSIGN_OR_RETURN(EagleShape shape, ReadEagleShape(text, "eagle.safetensors.json", target));
//   ASSIGN_OR_RETURN(auto weights, EagleWeights::Read(file, target, &shape));     // shape.vocabulary is lm_head.weight's
//   ASSIGN_OR_RETURN(std::vector<TokenId> tokens, ReadEagleTokens(file, shape.vocabulary, target.vocabulary));
//
// Errors: the errors of EagleHead::Open. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/eagle_head.h"
#include "tessera/model/internal/file_matrix.h"

namespace tessera {

// Reads the shape. The vocabulary is 0 if the text does not name one.
absl::StatusOr<EagleShape> ReadEagleShape(absl::string_view text, absl::string_view source, const ModelConfig& target);

// Returns the model's token for each of the head's tokens, each token once.
absl::StatusOr<std::vector<TokenId>> ReadEagleTokens(const SafetensorsFile& file, int vocabulary, int target_vocabulary);

struct EagleWeights {
  // Refuses tensors that no EAGLE-3 head has. Writes the rows of the head's matrix to shape->vocabulary.
  static absl::StatusOr<std::unique_ptr<EagleWeights>> Read(const SafetensorsFile& file, const ModelConfig& target, EagleShape* shape);
  int64_t bytes() const;

  FileMatrix fuse, query, key, value, output, gate, up, down, head;
  FileMatrix embeddings;   // No matrix: the head uses the model's embeddings.
  std::vector<float> input_norm, hidden_norm, post_norm, norm;
};

}  // namespace tessera
