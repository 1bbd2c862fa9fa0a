// Adapters from files as a model reads them.
//
//   ASSIGN_OR_RETURN(AdapterFile file, ReadAdapter("pirate/", *model, config));                 // model/files/adapter_file.h
//   ASSIGN_OR_RETURN(LoraAdapter adapter, MakeLoraAdapter(file, config, /*scale=*/0.5f));
//   rows.push_back({token, path, &adapter});                                                    // a PassRow
//
// Numbers are widened to FP32, and B is transposed. Errors are InvalidArgument with file, layer, matrix, found and expected. Thread-safe
// (pure functions).
#pragma once

#include "absl/status/statusor.h"
#include "tessera/model/files/adapter_file.h"
#include "tessera/model/files/config.h"
#include "tessera/model/lora.h"

namespace tessera {

// scale: a factor on what the file says. config: the model's for which the file was read, else InvalidArgument.
absl::StatusOr<LoraAdapter> MakeLoraAdapter(const AdapterFile& file, const ModelConfig& config, float scale = 1);

}  // namespace tessera
