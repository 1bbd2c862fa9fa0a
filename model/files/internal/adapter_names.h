// Names of tensors in an adapter's folder, taken apart.
//
//   ASSIGN_OR_RETURN(AdapterHalf half, NamedHalf(file, file.tensors()[i], config->form()));   // its module, layer and matrix
//   const std::string other = ModuleBeside(half, /*layer=*/4, /*matrix=*/2);                  // "model.layers.4.self_attn.v_proj"
//
// Before the layers a name may have "base_model.model.", and the model as it is alone or within one that sees pictures
// ("language_model."). Behind a half's name it may have ".default", the name under which PEFT trains. Errors are InvalidArgument with file,
// tensor, found and expected. Thread-safe (pure).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/model/files/internal/adapter_plan.h"
#include "tessera/model/files/internal/folder_config.h"
#include "tessera/model/files/safetensors.h"

namespace tessera {

// Rows and columns are A's [rank, in] and B's [out, rank], however the file has them. The source is not set.
absl::StatusOr<AdapterHalf> NamedHalf(const SafetensorsFile& file, const SafetensorsTensor& tensor, const FolderForm& form);

// The name that another matrix has in a file with this one.
std::string ModuleBeside(const AdapterHalf& half, int layer, int matrix);

}  // namespace tessera
