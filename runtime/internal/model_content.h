// A number that tells models apart by what their texts depend on, the same in every process.
//
//   ASSIGN_OR_RETURN(const uint64_t content, ModelContentOf(model));     // of model.gguf and of what was packed from it: the same (*)
//
// It covers the file's header, byte for byte (metadata, vocabulary, names and shapes of tensors), all weights as they are computed with,
// the recipe of their forms, and tensors that change angles of RoPE. For a packed file it takes the checksums of the manifest, against
// which weights are checked as they are read: some milliseconds, whatever the model's size. Weights that were made while they were loaded
// (from a GGUF file, or tiles from panels) are in memory and are read once, as fast as memory is. It finds accidents, not forgeries.
//
// (*) But for tiles that were made of a packed file's panels and hold its numbers exactly (common-tile): they give the numbers of the GGUF
// file, perhaps by other scales and codes (model/files/internal/exact_blocks.h), and then have another content. A session of the one is
// refused by the other. Thread-compatible: it acquires weights.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "tessera/runtime/loaded_model.h"

namespace tessera {

// The errors of reading the file's header. REQUIRES: the weights are loaded.
absl::StatusOr<uint64_t> ModelContentOf(const LoadedModel& model);

}  // namespace tessera
