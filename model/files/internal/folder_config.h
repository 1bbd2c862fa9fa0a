// The statements of a folder's adapter_config.json about the folder's tensors, for each program that writes such files.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<FolderConfig> config, ReadFolderConfig(text, "pirate/adapter_config.json", /*layers=*/30));
//   const AdapterModule query = {.name = "model.layers.3.self_attn.q_proj", .layer = 3, .matrix = kAdapterQuery};
//   RETURN_IF_ERROR(config->CheckModule(query));
//   const double scale = config->ScaleOf(query, config->RankOf(query));
//
// Errors: InvalidArgument with file, key, found and expected. Thread-safe (constant data).
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/json.h"

namespace tessera {

// A module of a model that has an A and B.
struct AdapterModule {
  std::string name = {};   // The name in the file, without "base_model.model.".
  int layer = 0;
  int matrix = 0;          // Index in kAdapterTargets.
};

// The names and the layout of a program's tensors in a folder.
struct FolderForm {
  const char* file;        // "adapter_model.safetensors"
  const char* older;       // The file of older versions in its place, which is refused.
  const char* half_a;      // ".lora_A"
  const char* half_b;
  const char* ending;      // Follows half_a or half_b: ".weight"
  const char* shown;       // A whole name, for messages.
  bool transposed;         // A is [in, rank], B is [rank, out].
};

class FolderConfig {
 public:
  virtual ~FolderConfig() = default;

  virtual const FolderForm& form() const = 0;
  // Refuses a module that this adapter does not change.
  virtual absl::Status CheckModule(const AdapterModule& module) const = 0;
  // Refuses a module without A and B that would still change.
  virtual absl::Status CheckMissing(const AdapterModule& /*module*/) const { return absl::OkStatus(); }
  virtual int RankOf(const AdapterModule& module) const = 0;
  virtual double ScaleOf(const AdapterModule& module, int rank) const = 0;
};

// Reads the configuration. source: the file's path, for messages; layers: of the model.
absl::StatusOr<std::unique_ptr<FolderConfig>> ReadFolderConfig(absl::string_view text, absl::string_view source, int layers);

// Reads one of the two kinds.
absl::StatusOr<std::unique_ptr<FolderConfig>> ReadPeftConfig(const JsonValue& json, absl::string_view source);
absl::StatusOr<std::unique_ptr<FolderConfig>> ReadMlxConfig(const JsonValue& json, absl::string_view source, int layers);

}  // namespace tessera
