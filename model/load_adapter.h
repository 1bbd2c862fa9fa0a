// Adapters from files as a model reads them.
//
//   ASSIGN_OR_RETURN(AdapterFile file, ReadAdapter("pirate/", *model, config));                 // model/files/adapter_file.h
//   ASSIGN_OR_RETURN(LoraAdapter adapter, MakeLoraAdapter(std::move(file), config, /*scale=*/0.5f));
//   rows.push_back({token, path, &adapter});                                                    // a PassRow
//
// An adapter that is read again and again keeps its file open, and is made while it is read:
//
//   ASSIGN_OR_RETURN(std::unique_ptr<AdapterReader> reader, AdapterReader::Open("pirate/", *model, config));
//   ASSIGN_OR_RETURN(LoraAdapter adapter, ReadLoraAdapter(*reader, config, /*scale=*/0.5f));
//
// B is transposed. Numbers of 16 bits stay as they are; those of 32 bits become FP16 or BF16 where all of a pair's are exact in it, and
// stay FP32 where they are not. Errors are InvalidArgument with file, layer, matrix, found and expected. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/files/adapter_file.h"
#include "tessera/model/files/config.h"
#include "tessera/model/lora.h"

namespace tessera {

// scale: a factor on what the file says. config: the model's for which the file was read, else InvalidArgument. Given up, the file's bytes
// go pair by pair, so that memory never holds much more than the adapter. REQUIRES: it was read with its numbers.
absl::StatusOr<LoraAdapter> MakeLoraAdapter(AdapterFile file, const ModelConfig& config, float scale = 1);

// The same of a file that is open: each pair is made as its numbers come. The errors of AdapterReader::ReadPairs, too.
absl::StatusOr<LoraAdapter> ReadLoraAdapter(const AdapterReader& reader, const ModelConfig& config, float scale = 1);

// What is known of an adapter whose file was read without its numbers.
struct LoraPlan {
  std::vector<int> ranks = {};          // As LoraAdapter::Ranks().
  std::vector<int> number_bytes = {};   // A number takes 2 at each place or, unless all are exact in 16 bits, 4.

  // LoraAdapter::bytes() at most, once it is padded to `to`. shapes: as LoraShapesOf has them (adapter_set.h).
  int64_t BytesPaddedTo(const std::vector<int>& to, const std::vector<LoraShape>& shapes) const;
};
// REQUIRES: the file was read for this model.
LoraPlan PlanLoraAdapter(const AdapterFile& file, const ModelConfig& config);

}  // namespace tessera
