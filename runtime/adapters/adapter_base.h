// The model that adapters are for, without its weights: adapters are read and checked before the engine is opened, and beside it.
//
//   ASSIGN_OR_RETURN(const std::shared_ptr<const AdapterBase> base, AdapterBase::Open(options));
//   ASSIGN_OR_RETURN(const std::unique_ptr<AdapterReader> reader, base->OpenFile("lora/pirate"));
//   ASSIGN_OR_RETURN(const LoraAdapter adapter, base->Read("lora/pirate", /*scale=*/0.5f));
//
// Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/model/files/adapter_file.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/marked_model.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/lora.h"
#include "tessera/runtime/engine/options.h"

namespace tessera {

class AdapterBase {
 public:
  // Opens the model of the options. The errors of ModelFile::Open and ReadModelConfig.
  static absl::StatusOr<std::shared_ptr<const AdapterBase>> Open(const EngineOptions& options);

  // Opens an adapter's file or folder, and checks it against the model. The errors of AdapterReader::Open.
  absl::StatusOr<std::unique_ptr<AdapterReader>> OpenFile(const std::string& path) const;
  // Reads an adapter. open: the reader of the path; null: the path is opened. The errors of OpenFile and ReadLoraAdapter.
  absl::StatusOr<LoraAdapter> Read(const std::string& path, float scale, const AdapterReader* open = nullptr) const;

  const ModelConfig& config() const { return config_; }

 private:
  AdapterBase() = default;

  std::unique_ptr<ModelFile> file_;
  std::unique_ptr<MarkedModel> marked_;   // The file.
  ModelConfig config_;
};

}  // namespace tessera
