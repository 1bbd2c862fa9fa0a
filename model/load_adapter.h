// Reads adapters from files for a model.
//
//   ASSIGN_OR_RETURN(AdapterFile file, ReadAdapter("pirate/", *model, config));                 // model/files/adapter_file.h
//   ASSIGN_OR_RETURN(LoraAdapter adapter, MakeLoraAdapter(std::move(file), config, /*scale=*/0.5f));
//   rows.push_back({token, path, &adapter});                                                    // a PassRow
//
// If an adapter is read again and again, AdapterReader keeps the file open and the adapter is made while the file is read:
//
//   ASSIGN_OR_RETURN(std::unique_ptr<AdapterReader> reader, AdapterReader::Open("pirate/", *model, config));
//   ASSIGN_OR_RETURN(LoraAdapter adapter, ReadLoraAdapter(*reader, config, /*scale=*/0.5f));
//
// B is transposed. Numbers of 16 bits stay unchanged. Numbers of 32 bits become FP16 or BF16 if the format holds all numbers of a pair
// exactly; otherwise the pair stays FP32. Errors: InvalidArgument with file, layer, matrix, found and expected. Threads: thread-safe (pure
// functions).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/model/files/adapter_file.h"
#include "tessera/model/files/config.h"
#include "tessera/model/lora.h"

namespace tessera {

// Makes an adapter from a file's numbers. scale: a factor on the file's scale. config: the configuration of the model for which the file
// was read; any other is InvalidArgument. If `file` is moved in, its bytes are freed pair by pair, so that memory never holds much more
// than the adapter. REQUIRES: the file was read with its numbers.
absl::StatusOr<LoraAdapter> MakeLoraAdapter(AdapterFile file, const ModelConfig& config, float scale = 1);

// Makes an adapter from an open file: each pair is made when the pair's numbers arrive. Also returns the errors of
// AdapterReader::ReadPairs.
absl::StatusOr<LoraAdapter> ReadLoraAdapter(const AdapterReader& reader, const ModelConfig& config, float scale = 1);

// The plan of an adapter whose file was read without numbers.
struct LoraPlan {
  std::vector<int> ranks = {};          // As LoraAdapter::Ranks().
  std::vector<int> number_bytes = {};   // By place: bytes per number, 2 or, unless 16 bits hold all numbers exactly, 4.

  // Returns the maximum of LoraAdapter::bytes() after padding to `to`. shapes: from LoraShapesOf (adapter_set.h).
  int64_t BytesPaddedTo(const std::vector<int>& to, const std::vector<LoraShape>& shapes) const;
};
// Plans an adapter from its file. REQUIRES: the file was read for this model.
LoraPlan PlanLoraAdapter(const AdapterFile& file, const ModelConfig& config);

}  // namespace tessera
