// The parts of a split model in a folder that is removed with the object.
//
//   SplitModel model(TinyModelBuilder({}).Split(3));
//   GgufFile::Open(model.Path(1));                       // .../model-00002-of-00003.gguf
//   model.Write(1, spoiled);                             // another part in its place
//
// Thread-compatible.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {

class SplitModel {
 public:
  explicit SplitModel(std::vector<GgufBuilder> parts) : parts_(static_cast<int>(parts.size())) {
    for (int part = 0; part < parts_; ++part) Write(part, parts[part]);
  }

  std::string Path(int part) const { return folder_.Path(absl::StrFormat("model-%05d-of-%05d.gguf", part + 1, parts_)); }
  void Write(int part, GgufBuilder builder) const { builder.WriteTo(Path(part)); }

 private:
  const TemporaryFolder folder_;
  const int parts_;
};

}  // namespace tessera
