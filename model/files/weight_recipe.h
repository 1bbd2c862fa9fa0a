// Gives each matrix of a model a form: the file's own form, another block format, or tiles for a phone NPU's matrix unit.
//
//   ASSIGN_OR_RETURN(const WeightRecipe recipe, WeightRecipe::Parse("int4-tile,ffn_down=int8-tile,head=keep"));     // or "001"
//   const WeightForm form = recipe.FormOf("blk.3.ffn_down.weight", /*tied_head=*/true, BlockFormat::kQ4_1, /*row=*/576);
//   if (form.tile.has_value()) Use(TileSchemeName(*form.tile));                                                      // "int8-tile"
//
// A recipe is the name of a known recipe (KnownRecipes), or rules separated by commas, in any order:
//
//   FORM         all matrices of the layers; without it: keep
//   PART=FORM    one part: head (output.weight, or token_embd.weight where that is the head), embedding (token_embd.weight, where it is
//                not), attn_q, attn_k, attn_v, attn_output, ffn_gate, ffn_up, ffn_down
//
//   keep         as the file has it
//   Q4_0 ...     a block format that can be written; for rows that are no whole blocks of 256, FormatForRows of it
//   int4-tile    a tile scheme (quant/tile_scheme.h); not for head and embedding, which are the CPU's (the test-time scaling paper,
//                section 7.2.2)
//   common-tile  groups of 32 along the inputs, exactly the file's numbers where those are Q4_0, IQ4_NL or Q8_0; else int4-common
//
// Threads: values are thread-safe once made.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/quant/block_format.h"
#include "tessera/quant/tile_scheme.h"

namespace tessera {

struct WeightForm {
  BlockFormat format = BlockFormat::kF32;  // In tiles: the file's own.
  std::optional<TileScheme> tile = {};
  friend bool operator==(const WeightForm&, const WeightForm&) = default;
};

// The effect of activation statistics (importance.h) on a matrix that takes a form. kSearched: statistics weigh errors in the search for
// the matrix's scales. kNothing: the matrix has no scales to search, since the numbers are plain floats, or stay unchanged. kNotSearched:
// the largest numbers define the scales (Q4_0, Q8_0, int4-tensor), and statistics would be ignored.
enum class ScaleSearch : uint8_t { kSearched, kNothing, kNotSearched };
// format: the format in the file.
ScaleSearch ScaleSearchOf(const WeightForm& form, BlockFormat format);

// Returns the format for rows of `row` weights if a recipe says `wanted`: `wanted` itself, if rows are whole blocks of `wanted`. A K format
// has blocks of 256. If such blocks do not fit, a format with blocks of 32 is the replacement: Q5_0 for Q4_K, Q5_1 for Q5_K, Q8_0 for Q6_K.
// ggml's own quantizer takes the same replacements, so that files can be compared. IQ4_NL replaces Q2_K and Q3_K: as many bits as Q4_0,
// which ggml takes there, and a lower perplexity (docs/flags.md).
BlockFormat FormatForRows(BlockFormat wanted, int64_t row);

struct KnownRecipe { const char *name, *text, *meaning; };
absl::Span<const KnownRecipe> KnownRecipes();

class WeightRecipe {
 public:
  WeightRecipe() = default;  // Keeps all.

  // Parses a recipe. Returns InvalidArgument (found, expected) for an unknown part, form or name, a repeated part, two forms for all
  // layers, an empty rule, a form that the part cannot have, or a form that cannot be written.
  static absl::StatusOr<WeightRecipe> Parse(absl::string_view text);
  // Returns "001": the recipe of a device that wants tiles, for a file without a recipe.
  static const WeightRecipe& Default();

  // Returns the form of a matrix. tensor: a matrix of the model, by name in the file or in graphs ("blk.0.ffn_up.weight", "ffn_up.weight").
  // format: the format in the file. row: the number of weights in a row (inputs). FormatForRows chooses the form by this number. A matrix
  // that is no part is kept.
  WeightForm FormOf(absl::string_view tensor, bool tied_head, BlockFormat format, int64_t row) const;
  // Returns the form, whether or not rows are whole blocks of the form.
  WeightForm RuleFor(absl::string_view tensor, bool tied_head, BlockFormat format) const;
  // Returns InvalidArgument (found, expected) if a rule is about the embedding table of a model whose only table is the head.
  absl::Status CheckFor(bool tied_head) const;

  bool has_tiles() const;
  bool keeps_all() const { return *this == WeightRecipe(); }
  // Returns the rules that Parse takes; equal recipes have equal rules. "keep": keeps all.
  std::string text() const;
  std::string name() const;  // A known recipe's name, else text().

  friend bool operator==(const WeightRecipe&, const WeightRecipe&) = default;

 private:
  enum class Kind : uint8_t { kKeep, kBlocks, kTile, kCommonTile };
  struct Form {
    Kind kind = Kind::kKeep;
    BlockFormat format = BlockFormat::kF32;  // For kBlocks.
    TileScheme tile = {};                    // For kTile.
    friend bool operator==(const Form&, const Form&) = default;
  };
  static constexpr int kParts = 9;

  static absl::StatusOr<Form> ParseForm(absl::string_view text);
  static std::string TextOf(const Form& form);
  absl::Status AddRules(absl::string_view text);

  std::array<Form, kParts> forms_ = {};
};

}  // namespace tessera
