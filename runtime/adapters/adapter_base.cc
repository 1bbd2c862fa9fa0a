#include "tessera/runtime/adapters/adapter_base.h"

#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/model/load_adapter.h"

namespace tessera {

absl::StatusOr<std::shared_ptr<const AdapterBase>> AdapterBase::Open(const EngineOptions& options) {
  std::shared_ptr<AdapterBase> base(new AdapterBase());
  ASSIGN_OR_RETURN(base->file_, ModelFile::Open(options.model_path, ModelFile::Weights::kLater, options.cancel));
  ASSIGN_OR_RETURN(base->config_, ReadModelConfig(base->file_->gguf()));
  base->marked_ = std::make_unique<MarkedModel>(*base->file_);
  return base;
}

absl::StatusOr<std::unique_ptr<AdapterReader>> AdapterBase::OpenFile(const std::string& path) const {
  return AdapterReader::Open(path, *marked_, config_);
}

absl::StatusOr<LoraAdapter> AdapterBase::Read(const std::string& path, float scale, const AdapterReader* open) const {
  if (open != nullptr) return ReadLoraAdapter(*open, config_, scale);
  ASSIGN_OR_RETURN(const std::unique_ptr<AdapterReader> reader, OpenFile(path));
  return ReadLoraAdapter(*reader, config_, scale);
}

}  // namespace tessera
