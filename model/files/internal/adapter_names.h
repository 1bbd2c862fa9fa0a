// Splits names of tensors in an adapter's folder.
//
//   ASSIGN_OR_RETURN(AdapterHalf half, NamedHalf(file, file.tensors()[i], config->form()));   // its module, layer and matrix
//   const std::string other = ModuleBeside(half, /*layer=*/4, /*matrix=*/2);                  // "model.layers.4.self_attn.v_proj"
//
// In front of the layers a name may have "base_model.model.", and the model's prefix, alone or within a model that sees pictures
// ("language_model."). Behind the half's name may stand ".default", PEFT's name for the trained adapter. Errors: InvalidArgument with file,
// tensor, found and expected. Thread-safe (pure).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/model/files/internal/adapter_plan.h"
#include "tessera/model/files/internal/folder_config.h"
#include "tessera/model/files/safetensors.h"

namespace tessera {

// Returns the half that a tensor holds. Rows and columns are A's [rank, in] and B's [out, rank], regardless of the file's order. The source
// is not set.
absl::StatusOr<AdapterHalf> NamedHalf(const SafetensorsFile& file, const SafetensorsTensor& tensor, const FolderForm& form);

// Returns the name of another matrix in a file with this half.
std::string ModuleBeside(const AdapterHalf& half, int layer, int matrix);

}  // namespace tessera
