#include "tessera/model/files/weight_recipe.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/tile_matrix.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

constexpr TileScheme kInt4Tile = {TileCode::kInt4, TileScales::kTileGroup}, kInt8Tile = {TileCode::kInt8, TileScales::kTileGroup};

TEST(WeightRecipe, HeaderExample) {
  std::string used;
  const auto Use = [&](const std::string& name) { used = name; };
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const WeightRecipe recipe, WeightRecipe::Parse("int4-tile,ffn_down=int8-tile,head=keep"));
    const WeightForm form = recipe.FormOf("blk.3.ffn_down.weight", /*tied_head=*/true, BlockFormat::kQ4_1, /*row=*/576);
    if (form.tile.has_value()) Use(TileSchemeName(*form.tile));
    EXPECT_TRUE(recipe == WeightRecipe::Default());
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(used, "int8-tile");
}

TEST(WeightRecipe, RulesGiveEachPartItsForm) {
  const WeightRecipe recipe = Must(WeightRecipe::Parse("ffn_down=Q8_0, int4-tile ,attn_v=keep,head=Q4_0"));
  const auto form = [&](const char* tensor, bool tied = false) { return recipe.FormOf(tensor, tied, BlockFormat::kQ4_1, 576); };
  EXPECT_TRUE(form("blk.12.attn_q.weight") == (WeightForm{BlockFormat::kQ4_1, kInt4Tile}));
  EXPECT_TRUE(form("ffn_up.weight") == (WeightForm{BlockFormat::kQ4_1, kInt4Tile})) << "a label of graphs";
  EXPECT_TRUE(form("blk.0.ffn_down.weight") == WeightForm{BlockFormat::kQ8_0});
  EXPECT_TRUE(form("blk.0.attn_v.weight") == WeightForm{BlockFormat::kQ4_1});
  EXPECT_TRUE(form("output.weight") == WeightForm{BlockFormat::kQ4_0});
  EXPECT_TRUE(form("token_embd.weight") == WeightForm{BlockFormat::kQ4_1});
  EXPECT_TRUE(form("token_embd.weight", /*tied=*/true) == WeightForm{BlockFormat::kQ4_0});
  for (const char* no_part : {"blk.0.attn_norm.weight", "blk.0.attn_q.bias", "blk.head.weight", "head.weight", "output_norm.weight", ""}) {
    EXPECT_TRUE(form(no_part) == WeightForm{BlockFormat::kQ4_1}) << no_part;
  }
  EXPECT_TRUE(recipe.has_tiles());
  EXPECT_FALSE(Must(WeightRecipe::Parse("Q8_0")).has_tiles());
}

TEST(WeightRecipe, CommonTilesHoldTheFilesNumbersWherePossible) {
  const WeightRecipe recipe = Must(WeightRecipe::Parse("ggml-hexagon"));
  const auto tile = [&](BlockFormat format) { return *recipe.FormOf("blk.0.ffn_up.weight", false, format, 576).tile; };
  EXPECT_TRUE(tile(BlockFormat::kQ4_0) == (TileScheme{TileCode::kInt4, TileScales::kCommonGroup}));
  EXPECT_TRUE(tile(BlockFormat::kIQ4_NL) == (TileScheme{TileCode::kIq4Nl, TileScales::kCommonGroup}));
  EXPECT_TRUE(tile(BlockFormat::kQ8_0) == (TileScheme{TileCode::kInt8, TileScales::kCommonGroup}));
  EXPECT_TRUE(tile(BlockFormat::kQ6_K) == (TileScheme{TileCode::kInt4, TileScales::kCommonGroup}));
  for (const BlockFormat exact : {BlockFormat::kQ4_0, BlockFormat::kIQ4_NL, BlockFormat::kQ8_0}) {
    EXPECT_TRUE(TileMatrix::IsExact(exact, tile(exact))) << InfoOf(exact).name;
  }
}

TEST(WeightRecipe, SaysWhoseScalesAreSearched) {
  const auto search = [](const char* form, BlockFormat format) {
    return ScaleSearchOf(Must(WeightRecipe::Parse(form)).FormOf("blk.0.ffn_up.weight", false, format, 512), format);
  };
  for (const char* form : {"int4-tile", "nf4-common", "int8-channel", "common-tile", "T2", "T3", "Q2_K", "Q6_K", "IQ4_NL"}) {
    EXPECT_EQ(search(form, BlockFormat::kF16), ScaleSearch::kSearched) << form;
  }
  for (const char* form : {"int4-tensor", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"}) {
    EXPECT_EQ(search(form, BlockFormat::kF16), ScaleSearch::kNotSearched) << form;
  }
  for (const char* form : {"keep", "fp16", "F32", "F16", "BF16"})
    EXPECT_EQ(search(form, BlockFormat::kQ6_K), ScaleSearch::kNothing) << form;
  EXPECT_EQ(search("Q4_0", BlockFormat::kQ4_0), ScaleSearch::kNothing) << "it stays as it is";
  EXPECT_EQ(search("T2", BlockFormat::kT2), ScaleSearch::kNothing);
  EXPECT_EQ(search("common-tile", BlockFormat::kQ4_0), ScaleSearch::kNothing) << "tiles hold it exactly";
  EXPECT_EQ(search("int4-common", BlockFormat::kQ8_0), ScaleSearch::kSearched);
}

TEST(WeightRecipe, KnownRecipesMatchTheirPublishedText) {
  for (const KnownRecipe& known : KnownRecipes()) {
    const WeightRecipe recipe = Must(WeightRecipe::Parse(known.name));
    EXPECT_TRUE(recipe == Must(WeightRecipe::Parse(known.text))) << known.name;
    EXPECT_EQ(recipe.text(), known.text);
    EXPECT_EQ(recipe.name(), known.name);
    EXPECT_TRUE(recipe.has_tiles());
  }
  EXPECT_TRUE(*WeightRecipe::Default().FormOf("blk.0.ffn_down.weight", true, BlockFormat::kQ4_1, 576).tile == kInt8Tile);
  EXPECT_EQ(WeightRecipe::Default().name(), "001");
}

TEST(WeightRecipe, EqualOnesHaveTheSameText) {
  const auto text = [](const char* rules) { return Must(WeightRecipe::Parse(rules)).text(); };
  EXPECT_EQ(WeightRecipe().text(), "keep");
  EXPECT_EQ(text("keep,head=keep,attn_q=keep"), "keep");
  EXPECT_TRUE(Must(WeightRecipe::Parse("keep,head=keep")).keeps_all());
  EXPECT_EQ(text("ffn_down=int8-tile,int4-tile,ffn_up=int4-tile"), "int4-tile,ffn_down=int8-tile");
  EXPECT_EQ(text("ffn_down=int8-tile"), "ffn_down=int8-tile");
  EXPECT_EQ(text("head=Q4_0,embedding=Q8_0"), "head=Q4_0,embedding=Q8_0");
  EXPECT_EQ(text("int4-tile,ffn_down=keep"), "int4-tile,ffn_down=keep");
  EXPECT_EQ(text("fp16,attn_q=Q4_1"), "fp16,attn_q=Q4_1");
  EXPECT_EQ(text("attn_q=fp16,attn_k=fp16,attn_v=fp16,attn_output=fp16"), "fp16,ffn_gate=keep,ffn_up=keep,ffn_down=keep");
  for (const char* rules : {"keep", "001", "common-tile,head=Q8_0", "Q4_0,ffn_up=nf4-common,embedding=Q8_0"}) {
    const WeightRecipe recipe = Must(WeightRecipe::Parse(rules));
    EXPECT_TRUE(Must(WeightRecipe::Parse(recipe.text())) == recipe) << rules;
  }
}

TEST(WeightRecipe, WrongRecipesSayTheFoundRule) {
  const auto message = [](absl::string_view text) { return std::string(WeightRecipe::Parse(text).status().message()); };
  const std::string names = "001, ggml-hexagon, qnn, qnn-a8, fp16";
  const std::string empty = absl::StrCat(", expected a recipe (", names, "), or FORM and PART=FORM");
  EXPECT_EQ(message(""), "found an empty rule in \"\"" + empty);
  EXPECT_EQ(message("fp16,,head=keep"), "found an empty rule in \"fp16,,head=keep\"" + empty);
  EXPECT_EQ(message("fp16,"), "found an empty rule in \"fp16,\"" + empty);
  EXPECT_EQ(message("int5"), absl::StrCat("found the form \"int5\", expected keep, common-tile, a tile scheme such as int4-tile, a block ",
                                          "format such as Q4_0, or one of the recipes ", names, " alone"));
  EXPECT_EQ(message("attn_q=").find("found the form \"\", expected"), 0u) << message("attn_q=");
  EXPECT_EQ(message("qnn,head=keep"), "found the recipe qnn beside other rules, expected it alone, or its rules: int4-channel-a16");
  EXPECT_EQ(message("ffn=fp16"),
            "found the part \"ffn\", expected one of head, embedding, attn_q, attn_k, attn_v, attn_output, ffn_gate, ffn_up, ffn_down");
  EXPECT_EQ(message("ffn_up=fp16,ffn_up=fp16"), "found the part ffn_up twice, expected it once");
  EXPECT_EQ(message("fp16,int4-tile"), "found fp16 and int4-tile for all layers, expected one of them");
  for (const std::string part : {"head", "embedding"}) {
    for (const std::string form : {"int4-tile", "common-tile"}) {
      EXPECT_EQ(message(part + "=" + form), absl::StrCat("found ", part, "=", form, ", expected keep or a block format: head and ",
                                                         "embedding table are computed on the CPU (the test-time scaling paper, ",
                                                         "section 7.2.2)"));
    }
  }
  EXPECT_EQ(WeightRecipe::Parse("IQ2_XS").status(), CheckWritten(BlockFormat::kIQ2_XS)) << "it is only read";
  EXPECT_FALSE(WeightRecipe::Parse("IQ2_XS").ok());
  EXPECT_EQ(message(std::string("\x1b[2J\n\0", 6)).find('\x1b'), std::string::npos) << "a file cannot control a terminal";
  EXPECT_LT(message(std::string(100000, 'x')).size(), 400u);
}

TEST(WeightRecipe, ARuleForATableThatIsTheHeadIsRefused) {
  const WeightRecipe recipe = Must(WeightRecipe::Parse("embedding=Q8_0"));
  EXPECT_EQ(recipe.CheckFor(/*tied_head=*/true).message(),
            "found embedding=Q8_0 for a model whose embedding table is its head, expected head=Q8_0");
  EXPECT_TRUE(recipe.CheckFor(/*tied_head=*/false).ok());
  EXPECT_TRUE(WeightRecipe::Default().CheckFor(/*tied_head=*/true).ok());
}

TEST(WeightRecipe, RowsThatAreNoWholeBlocksOf256TakeBlocksOf32) {
  const std::pair<BlockFormat, BlockFormat> pairs[] = {
      {BlockFormat::kQ2_K, BlockFormat::kIQ4_NL}, {BlockFormat::kQ3_K, BlockFormat::kIQ4_NL}, {BlockFormat::kQ4_K, BlockFormat::kQ5_0},
      {BlockFormat::kQ5_K, BlockFormat::kQ5_1},   {BlockFormat::kQ6_K, BlockFormat::kQ8_0}};
  for (const auto& [wanted, instead] : pairs) {
    const WeightRecipe recipe = Must(WeightRecipe::Parse(InfoOf(wanted).name));
    EXPECT_EQ(recipe.FormOf("ffn_up.weight", true, BlockFormat::kF16, 576).format, instead);
    EXPECT_EQ(recipe.FormOf("ffn_up.weight", true, BlockFormat::kF16, 1536).format, wanted);
    EXPECT_EQ(recipe.RuleFor("ffn_up.weight", true, BlockFormat::kF16).format, wanted);
    EXPECT_EQ(recipe.text(), InfoOf(wanted).name) << "a packed file says what was wanted";
    EXPECT_GE(InfoOf(instead).bytes_per_block * 8, InfoOf(wanted).bytes_per_block) << "no fewer bits";
  }
  // Each format with blocks of 256 that can be written has one: else its rows would be refused.
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (info.quantize == nullptr || info.values_per_block <= 32) continue;
    EXPECT_NE(FormatForRows(info.format, 32), info.format) << info.name;
  }
  EXPECT_EQ(FormatForRows(BlockFormat::kQ4_1, 33), BlockFormat::kQ4_1) << "refused where it is written";
}

TEST(WeightRecipe, AMistypedPartOrFormIsFollowedByTheOneThatIsMeant) {
  EXPECT_TRUE(absl::EndsWith(WeightRecipe::Parse("Q4_0,ffn_don=Q8_0").status().message(), "; did you mean ffn_down?"));
  EXPECT_TRUE(absl::EndsWith(WeightRecipe::Parse("Q4K").status().message(), "; did you mean Q4_K?"));
}

}  // namespace
}  // namespace tessera
