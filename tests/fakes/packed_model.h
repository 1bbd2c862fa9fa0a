// A tiny model as a GGUF file and packed, in a separate folder.
//
//   const PackedTiny model({.architecture = "gemma3"});
//   Engine::Load({.model_path = model.packed()});
//
// Thread-compatible.
#pragma once

#include <string>

#include "tessera/model/files/pack.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {

// recipe: as for WeightRecipe::Parse.
inline TsrSummary PackFile(const std::string& gguf, const std::string& tsr, int threads = 2, const std::string& recipe = "keep") {
  const auto file = Must(GgufFile::Open(gguf));
  ThreadPool pool(threads);
  const PackPlan plan = Must(PackPlan::Make(*file, Must(WeightRecipe::Parse(recipe))));
  return Must(PackModel(*file, plan, tsr, pool, [](PackStage, int64_t, int64_t) {}));
}

class PackedTiny {
 public:
  explicit PackedTiny(const TinyModel& tiny) {
    TinyModelBuilder(tiny).WriteTo(gguf());
    PackFile(gguf(), packed());
  }
  std::string gguf() const { return folder_.Path("tiny.gguf"); }
  std::string packed() const { return folder_.Path("tiny.tsr"); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  const TemporaryFolder folder_;
};

}  // namespace tessera
