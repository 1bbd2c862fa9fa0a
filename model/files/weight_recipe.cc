#include "tessera/model/files/weight_recipe.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <glog/logging.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/tile_matrix.h"

namespace tessera {
namespace {

constexpr KnownRecipe kKnown[] = {
    {"001", "int4-tile,ffn_down=int8-tile",
     "the test-time scaling paper: patches of 2 x 16 weights share a scale, 8 bits where the feed-forward part ends"},
    {"ggml-hexagon", "common-tile", "groups of 32 weights along the inputs, as GGUF files have them"},
    {"qnn", "int4-channel-a16", "4 bits with a scale per output, activations of 16 bits"},
    {"qnn-a8", "int4-channel-a8", "4 bits with a scale per output, activations of 8 bits"},
    {"fp16", "fp16", "FP16, to compare"},
};

constexpr int kHead = 0, kEmbedding = 1, kFirstOfLayers = 2;
constexpr const char* kPartNames[] = {"head",   "embedding",   "attn_q",   "attn_k", "attn_v",
                                      "attn_output", "ffn_gate", "ffn_up", "ffn_down"};
constexpr char kKeep[] = "keep", kCommon[] = "common-tile";

std::string PartList() { return absl::StrJoin(kPartNames, ", "); }

std::string KnownNames() {
  return absl::StrJoin(kKnown, ", ", [](std::string* out, const KnownRecipe& recipe) { absl::StrAppend(out, recipe.name); });
}

const KnownRecipe* FindKnown(absl::string_view name) {
  const auto found = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const KnownRecipe& each) { return name == each.name; });
  return found == std::end(kKnown) ? nullptr : found;
}

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("found ", parts...));
}

// Returns the block formats that can be written.
std::vector<BlockFormat> WrittenFormats() {
  std::vector<BlockFormat> written;
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (info.quantize != nullptr) written.push_back(info.format);
  }
  return written;
}

std::vector<std::string> FormNames() {
  std::vector<std::string> names = {kKeep, kCommon, "int4-tile", "int8-tile", "int4-common", "int4-channel", "int8-channel", "int4-tensor"};
  for (const BlockFormat format : WrittenFormats()) names.push_back(InfoOf(format).name);
  for (const KnownRecipe& known : kKnown) names.push_back(known.name);
  return names;
}

// Returns -1 for an unknown name.
int FindPart(absl::string_view name) {
  const auto found = std::find(std::begin(kPartNames), std::end(kPartNames), name);
  return found == std::end(kPartNames) ? -1 : static_cast<int>(found - std::begin(kPartNames));
}

// Returns the part of a tensor: "blk.3.ffn_up.weight" and "ffn_up.weight" are ffn_up. -1: no part.
int PartOf(absl::string_view tensor, bool tied_head) {
  if (tensor == "output.weight") return kHead;
  if (tensor == "token_embd.weight") return tied_head ? kHead : kEmbedding;
  if (!absl::ConsumeSuffix(&tensor, ".weight")) return -1;
  if (absl::ConsumePrefix(&tensor, "blk.")) {
    const size_t dot = tensor.find('.');
    if (dot == tensor.npos) return -1;
    tensor.remove_prefix(dot + 1);
  }
  const int part = FindPart(tensor);
  return part < kFirstOfLayers ? -1 : part;
}

// Returns the scheme that holds the file's numbers exactly, if common groups can; else codes of 4 bits.
TileScheme CommonTileOf(BlockFormat format) {
  for (const TileCode code : {TileCode::kInt4, TileCode::kIq4Nl, TileCode::kInt8}) {
    const TileScheme scheme = {code, TileScales::kCommonGroup};
    if (TileMatrix::IsExact(format, scheme)) return scheme;
  }
  return {TileCode::kInt4, TileScales::kCommonGroup};
}

// Formats with blocks of 32 that replace formats with blocks of 256: each with as many bits per weight or a few more. For 2 and 3 bits the
// replacement is the smallest format, with a table of 16 numbers.
struct Instead {
  BlockFormat wanted, taken;
};
constexpr Instead kInstead[] = {
    {BlockFormat::kQ2_K, BlockFormat::kIQ4_NL}, {BlockFormat::kQ3_K, BlockFormat::kIQ4_NL}, {BlockFormat::kQ4_K, BlockFormat::kQ5_0},
    {BlockFormat::kQ5_K, BlockFormat::kQ5_1},   {BlockFormat::kQ6_K, BlockFormat::kQ8_0},
};

}  // namespace

BlockFormat FormatForRows(BlockFormat wanted, int64_t row) {
  if (row % InfoOf(wanted).values_per_block == 0) return wanted;
  const auto found = std::find_if(std::begin(kInstead), std::end(kInstead), [&](const Instead& one) { return one.wanted == wanted; });
  return found == std::end(kInstead) ? wanted : found->taken;
}

ScaleSearch ScaleSearchOf(const WeightForm& form, BlockFormat format) {
  if (form.tile.has_value()) {
    if (form.tile->code == TileCode::kHalf || TileMatrix::IsExact(format, *form.tile)) return ScaleSearch::kNothing;
    return form.tile->scales == TileScales::kTensor ? ScaleSearch::kNotSearched : ScaleSearch::kSearched;
  }
  const BlockFormatInfo& blocks = InfoOf(form.format);
  if (form.format == format || blocks.values_per_block == 1) return ScaleSearch::kNothing;
  return blocks.search == nullptr ? ScaleSearch::kNotSearched : ScaleSearch::kSearched;
}

absl::Span<const KnownRecipe> KnownRecipes() { return kKnown; }

absl::StatusOr<WeightRecipe::Form> WeightRecipe::ParseForm(absl::string_view text) {
  if (text == kKeep) return Form{};
  if (text == kCommon) return Form{.kind = Kind::kCommonTile};
  if (const auto scheme = TileSchemeByName(text); scheme.ok()) return Form{.kind = Kind::kTile, .tile = *scheme};
  if (const auto format = BlockFormatByName(text); format.ok()) {
    RETURN_IF_ERROR(CheckWritten((*format)->format));
    return Form{.kind = Kind::kBlocks, .format = (*format)->format};
  }
  if (const KnownRecipe* known = FindKnown(text)) {
    return Wrong("the recipe ", known->name, " beside other rules, expected it alone, or its rules: ", known->text);
  }
  return Wrong("the form ", Quoted(text), ", expected ", kKeep, ", ", kCommon, ", a tile scheme such as int4-tile, a block format such as ",
               "Q4_0, or one of the recipes ", KnownNames(), " alone", DidYouMean(text, FormNames()));
}

std::string WeightRecipe::TextOf(const Form& form) {
  switch (form.kind) {
    case Kind::kKeep: return kKeep;
    case Kind::kBlocks: return InfoOf(form.format).name;
    case Kind::kTile: return TileSchemeName(form.tile);
    case Kind::kCommonTile: return kCommon;
  }
  return "";
}

absl::Status WeightRecipe::AddRules(absl::string_view text) {
  std::array<bool, kParts> given = {};
  std::optional<Form> of_layers;
  for (absl::string_view rule : absl::StrSplit(text, ',')) {
    rule = absl::StripAsciiWhitespace(rule);
    if (rule.empty()) return Wrong("an empty rule in ", Quoted(text), ", expected a recipe (", KnownNames(), "), or FORM and PART=FORM");
    const size_t equals = rule.find('=');
    ASSIGN_OR_RETURN(const Form form, ParseForm(equals == rule.npos ? rule : rule.substr(equals + 1)));
    if (equals == rule.npos) {
      if (of_layers.has_value()) return Wrong(TextOf(*of_layers), " and ", TextOf(form), " for all layers, expected one of them");
      of_layers = form;
      continue;
    }
    const int part = FindPart(rule.substr(0, equals));
    const absl::string_view name = rule.substr(0, equals);
    if (part < 0) {
      return Wrong("the part ", Quoted(name), ", expected one of ", PartList(),
                   DidYouMean(name, {std::begin(kPartNames), std::end(kPartNames)}));
    }
    if (given[part]) return Wrong("the part ", kPartNames[part], " twice, expected it once");
    if (part < kFirstOfLayers && form.kind != Kind::kKeep && form.kind != Kind::kBlocks) {
      return Wrong(kPartNames[part], "=", TextOf(form), ", expected ", kKeep, " or a block format: ",
                   "head and embedding table are computed on the CPU (the test-time scaling paper, section 7.2.2)");
    }
    given[part] = true;
    forms_[part] = form;
  }
  for (int part = kFirstOfLayers; part < kParts; ++part) {
    if (!given[part] && of_layers.has_value()) forms_[part] = *of_layers;
  }
  return absl::OkStatus();
}

absl::StatusOr<WeightRecipe> WeightRecipe::Parse(absl::string_view text) {
  static_assert(std::size(kPartNames) == kParts);
  const KnownRecipe* const known = FindKnown(text);
  WeightRecipe recipe;
  RETURN_IF_ERROR(recipe.AddRules(known == nullptr ? text : known->text));
  return recipe;
}

const WeightRecipe& WeightRecipe::Default() {
  static const WeightRecipe* const recipe = [] {
    absl::StatusOr<WeightRecipe> parsed = Parse(kKnown[0].name);
    CHECK(parsed.ok()) << parsed.status();
    return new WeightRecipe(*std::move(parsed));
  }();
  return *recipe;
}

WeightForm WeightRecipe::FormOf(absl::string_view tensor, bool tied_head, BlockFormat format, int64_t row) const {
  WeightForm form = RuleFor(tensor, tied_head, format);
  if (!form.tile.has_value()) form.format = FormatForRows(form.format, row);
  return form;
}

WeightForm WeightRecipe::RuleFor(absl::string_view tensor, bool tied_head, BlockFormat format) const {
  const int part = PartOf(tensor, tied_head);
  if (part < 0) return {.format = format};
  const Form& form = forms_[part];
  switch (form.kind) {
    case Kind::kKeep: break;
    case Kind::kBlocks: return {.format = form.format};
    case Kind::kTile: return {.format = format, .tile = form.tile};
    case Kind::kCommonTile: return {.format = format, .tile = CommonTileOf(format)};
  }
  return {.format = format};
}

absl::Status WeightRecipe::CheckFor(bool tied_head) const {
  const Form& table = forms_[kEmbedding];
  if (!tied_head || table.kind == Kind::kKeep) return absl::OkStatus();
  return Wrong("embedding=", TextOf(table), " for a model whose embedding table is its head, expected head=", TextOf(table));
}

bool WeightRecipe::has_tiles() const {
  const auto is_tile = [](const Form& form) { return form.kind == Kind::kTile || form.kind == Kind::kCommonTile; };
  return std::any_of(forms_.begin(), forms_.end(), is_tile);
}

// The form that most parts of the layers have is written once, for all parts.
std::string WeightRecipe::text() const {
  const auto first = forms_.begin() + kFirstOfLayers;
  const auto most = std::max_element(first, forms_.end(), [&](const Form& a, const Form& b) {
    return std::count(first, forms_.end(), a) < std::count(first, forms_.end(), b);
  });
  std::vector<std::string> rules;
  if (most->kind != Kind::kKeep) rules.push_back(TextOf(*most));
  for (int part = 0; part < kParts; ++part) {
    const Form& usual = part < kFirstOfLayers ? Form{} : *most;
    if (!(forms_[part] == usual)) rules.push_back(absl::StrCat(kPartNames[part], "=", TextOf(forms_[part])));
  }
  return rules.empty() ? kKeep : absl::StrJoin(rules, ",");
}

std::string WeightRecipe::name() const {
  for (const KnownRecipe& known : kKnown) {
    const absl::StatusOr<WeightRecipe> recipe = Parse(known.name);
    if (recipe.ok() && *recipe == *this) return known.name;
  }
  return text();
}

}  // namespace tessera
