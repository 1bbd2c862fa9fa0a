// Places each tensor of a model in the units that storage leases, and fills a unit from a GGUF file.
//
//   ASSIGN_OR_RETURN(WeightLayout layout, WeightLayout::Plan(*file, config, WeightEncoding::kPacked));
//   for (const TensorPart& part : layout.Parts("blk.0.ffn_up.weight")) Use(part.unit, part.offset);
//   ASSIGN_OR_RETURN(std::unique_ptr<ResidentSource> source, LoadResident(*file, layout, pool));
//
// Units follow the order of a pass: layer by layer, then the output norm and the head. A tensor larger than a unit is cut into ranges of
// rows, a multiple of 32 each. A head's bias is cut in the same way; each part of the bias lies next to the part of the head. The embedding
// table comes last if the table is the head, else first. A recipe gives matrices other forms than the file's forms: block formats, or tiles
// (weight_recipe.h). The matrices' numbers are then dequantized, and quantized once more, unless tiles hold the numbers exactly. Errors:
// file, tensor, found and expected. Threads: thread-safe once planned.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/text_hash.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/weight_recipe.h"
#include "tessera/quant/graph_weight.h"
#include "tessera/storage/resident_source.h"

namespace tessera {

class Importance;  // model/files/importance.h

// Rows that lie together in the packed layout. A tensor is cut, and parts of a tensor are read, at multiples of this number.
inline constexpr int kRowsPerPanel = 32;

// A tensor, or some rows of a tensor, in a unit.
struct TensorPart {
  int unit = 0;
  int64_t offset = 0;        // Offset in the unit; a multiple of 64.
  int64_t bytes = 0;         // In the layout's encoding.
  int64_t first_row = 0;     // The first row of the part in the tensor; for a vector, the first number.
  GraphWeight weight;        // spec.out_features: the rows of this part.
};

class WeightLayout {
 public:
  // Plans the layout. Checks that every tensor that the configuration needs is present with the right shape, and that the file has no other
  // tensor that might change texts. Returns InvalidArgument also if all weights together need more than 4 TiB (FP32 weights may take twelve
  // times the file). Also if the recipe has a rule for a part that the model does not have, or a form that cannot hold a matrix.
  // largest_unit: REQUIRES > 0. If 32 rows are larger than largest_unit, the 32 rows become a separate unit. REQUIRES: kTiles for a recipe
  // with tiles.
  static absl::StatusOr<WeightLayout> Plan(const GgufFile& file, const ModelConfig& config, WeightEncoding encoding,
                                           const WeightRecipe& recipe = {}, int64_t largest_unit = kLargestUnitBytes);

  int units() const { return static_cast<int>(unit_bytes_.size()); }
  int64_t UnitBytes(int unit) const { return unit_bytes_[static_cast<size_t>(unit)]; }
  int64_t TotalBytes() const { return total_bytes_; }
  WeightEncoding encoding() const { return encoding_; }
  const WeightRecipe& recipe() const { return recipe_; }
  // Returns the tensor's parts in order of rows. Empty if the model has no such tensor.
  absl::Span<const TensorPart> Parts(absl::string_view tensor) const;
  // Returns the panel with row `row` of a matrix, as a separate part. REQUIRES: the model has the matrix, and the matrix has the row.
  TensorPart PanelOf(absl::string_view tensor, int64_t row) const;
  // Returns the parts in a unit, in order of offset, each with the tensor's name. Valid while the layout lives.
  struct Placed { const std::string* tensor; const TensorPart* part; };
  std::vector<Placed> PartsOfUnit(int unit) const;

 private:
  friend class LayoutPlanner;
  WeightEncoding encoding_ = WeightEncoding::kPacked;
  WeightRecipe recipe_;
  std::vector<int64_t> unit_bytes_;
  std::vector<std::vector<std::pair<std::string, size_t>>> unit_parts_;  // By unit: keys of parts_ and indices in the vectors of parts_.
  int64_t total_bytes_ = 0;  // Bytes of all units.
  std::unordered_map<std::string, std::vector<TensorPart>, TextHash, TextEqual> parts_;
};

struct FillOptions {
  // Weight of each input's errors when scales are searched (ScaleSearchOf): scales of tiles and of some block formats. Borrowed. Null:
  // scales of tiles are nearest, and in searches all errors have the same weight.
  const Importance* importance = nullptr;
};

// Writes unit `unit` into `out`: matrices in the layout's forms, vectors widened to FP32. Returns InvalidArgument (file, tensor, block,
// byte) for a NaN or an infinity, and (file, tensor, found) for a number that the form cannot hold; the errors of GgufFile::Read. REQUIRES:
// out.size() == layout.UnitBytes(unit), zeroed; `layout` was planned from `file`. If a matrix has one scale for all numbers
// (TileScales::kTensor), each call reads the whole matrix; LoadResident reads the matrix once.
absl::Status FillUnit(const GgufFile& file, const WeightLayout& layout, int unit, absl::Span<std::byte> out,
                      const FillOptions& options = {});

// Loads all units, as written by FillUnit, on all threads of the pool. Returns ResourceExhausted (with the bytes) if the units do not fit
// in memory.
absl::StatusOr<std::unique_ptr<ResidentSource>> LoadResident(const GgufFile& file, const WeightLayout& layout, ThreadPool& pool,
                                                             const FillOptions& options = {});

}  // namespace tessera
