// Caches costs of passes on phones by a set of profiles: reads each model once, and plans each way to run a model once.
//
//   KnownModels models;                                                              // keeps what no profile changes
//   CosterCache costers(profiles, models);
//   const CosterCache::Question question = {.device = "8gen3", .style = "static", .shape = "004-1b", .recipe = "qnn"};
//   ASSIGN_OR_RETURN(const PassCoster* const coster, costers.Of(question));
//   ASSIGN_OR_RETURN(const PassCost pass, coster->Of({.rows = 8, .positions = 640, .logit_rows = 8}));
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/apps/lab/papers/figures/profile_set.h"
#include "tessera/model/files/known_shapes.h"
#include "tessera/model/pass_cost.h"

namespace tessera {

class KnownModels {
 public:
  struct Model {
    std::unique_ptr<GgufFile> file = {};
    ModelConfig config = {};
    WeightLayout layout = {};
  };
  // Returns the model, which lives as long as this. The errors of OpenKnownShape.
  absl::StatusOr<const Model*> Of(const std::string& shape);

 private:
  std::map<std::string, Model> models_;
};

class CosterCache {
 public:
  struct Question {
    std::string device = {}, style = {}, shape = {}, recipe = {};
    int64_t context = 4096;
    int64_t most_rows = 512;
    int adapter_rank = 0;
  };

  // Both must outlive this.
  CosterCache(const ProfileSet& profiles, KnownModels& models) : profiles_(profiles), models_(models) {}

  // Returns the coster, which is valid as long as this. NotFound for a device that is not in the set; the errors of ExecutionStyleByName,
  // WeightRecipe::Parse, OpenKnownShape and PassCoster::Create.
  absl::StatusOr<const PassCoster*> Of(const Question& question);
  absl::StatusOr<const ModelConfig*> ConfigOf(const std::string& shape);
  // Returns the first layer's graph, with the recipe's forms of matrices.
  absl::StatusOr<Graph> LayerGraphOf(const std::string& shape, const std::string& recipe);
  absl::StatusOr<const DeviceProfile*> ProfileOf(const std::string& device) const;

 private:
  const ProfileSet& profiles_;
  KnownModels& models_;
  std::map<std::string, PassCoster> costers_;
};

}  // namespace tessera
