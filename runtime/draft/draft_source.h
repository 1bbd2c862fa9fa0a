// Says where a draft comes from: a model's file, a copy of a model in few bits, the first layers of the target, a draft head or forecasts.
//
//   const DraftSource file = {.file = "draft.gguf"}, copy = {.copy = "q3"}, layers = {.layers = 8};
//   ASSIGN_OR_RETURN(const DraftSource source, DraftSource::Parse("self:q3:model.gguf"));     // {.file = "model.gguf", .copy = "q3"}
//   RETURN_IF_ERROR(file.Check());
//
// Parse and Check read no file. Threads: thread-safe (a value).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct DraftSource {
  std::string file = {};   // Empty: the target's file.
  std::string copy = {};   // One of LowBitCopy::Names(): a copy of the file. Empty: the file itself.
  int layers = 0;          // Number of first layers of the target; 0: all layers of the file.
  std::string map = {};    // With layers: the file of a map before the norm (model/exit_map.h). Empty: no map.

  // Reads a source as a text: FILE, self:NAME, self:NAME:FILE, self:layers=N or self:layers=N,head=MAP. An empty text is no source.
  // WrongUsage (draft_model) for a copy of another name, or of an empty file, and for layers that are no number above 0.
  static absl::StatusOr<DraftSource> Parse(absl::string_view text);

  // WrongUsage (draft_model) for fields that Parse never gives: a copy of another name, layers below 0, layers beside a file or a copy, and
  // a map without layers.
  absl::Status Check() const;

  // There is no draft.
  bool IsNone() const { return file.empty() && copy.empty() && layers == 0; }
  // The file is a folder, or its name ends with .safetensors: a draft head (model/eagle_head.h) or forecasts, no model.
  bool IsHead() const;
  // The file has forecasts (forecast_draft.h), by its header.
  bool HasForecasts() const;
};

}  // namespace tessera
