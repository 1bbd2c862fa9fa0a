// A model packed into a .tsr file, in a folder that is removed with the object. Packing takes less than a second, and no old file is used.
//
//   const PackedModel packed(TinyModelBuilder({}));                    // or packed("model.gguf")
//   Engine::Load({.model_path = packed.path()});
//
// CHECKs that packing succeeds. Thread-compatible.
#pragma once

#include <memory>
#include <string>

#include "glog/logging.h"
#include "tessera/model/files/pack.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {

class PackedModel {
 public:
  explicit PackedModel(const std::string& gguf) : gguf_(gguf) { Pack(); }
  explicit PackedModel(GgufBuilder builder) : gguf_(folder_.Path("model.gguf")) {
    builder.WriteTo(gguf_);
    Pack();
  }

  const std::string& path() const { return path_; }
  const std::string& gguf() const { return gguf_; }  // The source file of packing.

 private:
  void Pack() {
    const absl::StatusOr<std::unique_ptr<GgufFile>> file = GgufFile::Open(gguf_);
    CHECK(file.ok()) << file.status();
    const absl::StatusOr<PackPlan> plan = PackPlan::Make(**file);
    CHECK(plan.ok()) << plan.status();
    ThreadPool pool(2);
    const absl::Status packed = PackModel(**file, *plan, path_, pool, [](PackStage, int64_t, int64_t) {}).status();
    CHECK(packed.ok()) << packed;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("model.tsr");
  const std::string gguf_;
};

}  // namespace tessera
