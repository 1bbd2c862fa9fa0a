// Weights in other forms than their file's: laid out, filled, packed, opened, and put in tiles while they are loaded.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/model/files/internal/exact_blocks.h"
#include "tessera/model/files/internal/retile.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/quant/tile_matrix.h"
#include "tessera/tests/fakes/packed_model.h"

namespace tessera {
namespace {

using F = BlockFormat;
using Units = std::vector<std::vector<std::byte>>;

constexpr char kPackAgain[] = "pack the GGUF model again: tessera_pack ", kFiles[] = "MODEL.gguf MODEL.tsr";

WeightRecipe Recipe(const std::string& text) { return Must(WeightRecipe::Parse(text)); }

ModelConfig ConfigOf(const ModelFile& file) { return Must(ReadModelConfig(file.gguf())); }

absl::StatusOr<WeightLayout> PlanOf(const std::string& path, WeightEncoding encoding, const std::optional<WeightRecipe>& recipe = {}) {
  const auto file = Must(ModelFile::Open(path));
  return file->PlanWeights(ConfigOf(*file), encoding, recipe);
}

std::string WhyNot(const std::string& path, WeightEncoding encoding, const std::optional<WeightRecipe>& recipe = {}) {
  return std::string(PlanOf(path, encoding, recipe).status().message());
}

Units UnitsOf(WeightSource& source, const WeightLayout& layout) {
  Units units;
  for (int unit = 0; unit < source.units(); ++unit) {
    const WeightLease lease = Must(source.Acquire(unit));
    const auto bytes = lease.bytes().first(static_cast<size_t>(layout.UnitBytes(unit)));
    units.emplace_back(bytes.begin(), bytes.end());
  }
  return units;
}

// As a device that wants tiles gets them.
Units LoadedInTiles(const std::string& path, const std::optional<WeightRecipe>& recipe) {
  const auto file = Must(ModelFile::Open(path));
  const WeightLayout layout = Must(file->PlanWeights(ConfigOf(*file), WeightEncoding::kTiles, recipe));
  ThreadPool pool(3);
  return UnitsOf(*Must(file->LoadWeights(layout, pool)), layout);
}

std::vector<float> NumbersOf(const GgufFile& file, const GgufTensor& tensor) {
  std::vector<std::byte> blocks(tensor.size);
  Must(file.Read(tensor, 0, absl::MakeSpan(blocks)));
  std::vector<float> numbers(tensor.size / tensor.format->bytes_per_block * tensor.format->values_per_block);
  tensor.format->dequantize(blocks.data(), static_cast<int64_t>(numbers.size()), numbers.data());
  return numbers;
}

// The tensor's bytes in all units, one part after the other.
std::vector<std::byte> BytesOf(const std::string& tensor, const WeightLayout& layout, const Units& units) {
  std::vector<std::byte> bytes;
  for (const TensorPart& part : layout.Parts(tensor)) {
    const auto begin = units[part.unit].begin() + part.offset;
    bytes.insert(bytes.end(), begin, begin + part.bytes);
  }
  return bytes;
}

// The whole matrix at once, from its numbers or, where they are held exactly, from its blocks.
std::vector<std::byte> TilesOf(const GgufFile& file, const GgufTensor& tensor, TileScheme scheme) {
  const MatrixSpec spec = {"whole", tensor.format->format, tensor.shape[1], tensor.shape[0]};
  std::vector<std::byte> tiles(Must(TileMatrix::BytesFor(spec, scheme)));
  if (TileMatrix::IsExact(spec.format, scheme)) {
    std::vector<std::byte> blocks(tensor.size);
    Must(file.Read(tensor, 0, absl::MakeSpan(blocks)));
    Must(TileMatrix::Repack(spec, scheme, blocks, absl::MakeSpan(tiles)));
    return tiles;
  }
  const std::vector<float> numbers = NumbersOf(file, tensor);
  float largest = 0;
  for (const float x : numbers) largest = std::max(largest, std::fabs(x));
  Must(TileMatrix::Quantize(spec, scheme, {numbers.data(), spec.out_features, spec.in_features}, {.largest = largest},
                            absl::MakeSpan(tiles)));
  return tiles;
}

TEST(WeightsInTiles, TakeTheBytesOfTilesAndTheHeadTheBytesOfPanels) {
  for (const bool tied : {false, true}) {
    const TemporaryFolder folder;
    const std::string path = folder.Path("m.gguf");
    TinyModelBuilder({.tied = tied, .formats = {F::kQ4_1}}).WriteTo(path);
    const WeightLayout layout = Must(PlanOf(path, WeightEncoding::kTiles));
    EXPECT_EQ(layout.recipe().name(), "001");
    const auto part = [&](const char* name) { return layout.Parts(name)[0]; };
    EXPECT_EQ(TileSchemeName(*part("blk.0.ffn_up.weight").weight.tile), "int4-tile");
    EXPECT_EQ(part("blk.0.ffn_up.weight").bytes, 3 * 2 * 576) << "96 x 64";
    EXPECT_EQ(TileSchemeName(*part("blk.1.ffn_down.weight").weight.tile), "int8-tile");
    EXPECT_EQ(part("blk.1.ffn_down.weight").bytes, 2 * 3 * 1088) << "64 x 96";
    const TensorPart head = part(tied ? "token_embd.weight" : "output.weight");
    EXPECT_FALSE(head.weight.tile.has_value());
    EXPECT_EQ(head.bytes, Must(PackedMatrix::BytesFor({"", F::kQ4_1, kTinyVocabulary, 64})));
    EXPECT_FALSE(part("blk.0.attn_norm.weight").weight.tile.has_value());
    EXPECT_FALSE(layout.PanelOf("token_embd.weight", 40).weight.tile.has_value());
  }
}

TEST(WeightsInTiles, EqualTheQuantizedWholeMatrixWithAnyCut) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("m.gguf");
  TinyModelBuilder({.feed_forward = 160, .formats = {F::kQ4_0, F::kQ8_0, F::kQ4_1, F::kIQ4_NL}}).WriteTo(path);
  const auto file = Must(GgufFile::Open(path));
  const ModelConfig config = Must(ReadModelConfig(*file));
  ThreadPool pool(3);
  for (const char* recipe : {"001", "ggml-hexagon", "qnn-a8", "fp16", "int8-tensor,attn_q=int4-tensor"}) {
    for (const int64_t largest_unit : {int64_t{4000}, kLargestUnitBytes}) {
      const WeightLayout layout = Must(WeightLayout::Plan(*file, config, WeightEncoding::kTiles, Recipe(recipe), largest_unit));
      const Units units = UnitsOf(*Must(LoadResident(*file, layout, pool)), layout);
      EXPECT_EQ(layout.Parts("blk.0.ffn_up.weight").size() > 1, largest_unit == 4000) << recipe;
      for (const GgufTensor& tensor : file->tensors()) {
        const std::string name(tensor.name);
        const std::optional<TileScheme> tile = layout.Parts(name)[0].weight.tile;
        if (!tile.has_value()) continue;
        EXPECT_TRUE(BytesOf(name, layout, units) == TilesOf(*file, tensor, *tile)) << recipe << " " << name;
      }
    }
  }
}

TEST(WeightsOfOtherFormats, EqualTheQuantizedNumbers) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("m.gguf");
  TinyModelBuilder({.formats = {F::kF16}}).WriteTo(path);
  const auto file = Must(GgufFile::Open(path));
  const ModelConfig config = Must(ReadModelConfig(*file));
  const GgufTensor& up = *file->FindTensor("blk.1.ffn_up.weight");
  const std::vector<float> numbers = NumbersOf(*file, up);
  std::vector<std::byte> blocks(numbers.size() / 32 * 18);
  InfoOf(F::kQ4_0).quantize(numbers.data(), static_cast<int64_t>(numbers.size()), blocks.data());
  std::vector<float> expected(numbers.size());
  InfoOf(F::kQ4_0).dequantize(blocks.data(), static_cast<int64_t>(numbers.size()), expected.data());
  ThreadPool pool(1);
  for (const WeightEncoding encoding : {WeightEncoding::kPacked, WeightEncoding::kFloat32, WeightEncoding::kTiles}) {
    const WeightLayout layout = Must(WeightLayout::Plan(*file, config, encoding, Recipe("Q4_0,attn_q=keep")));
    const Units units = UnitsOf(*Must(LoadResident(*file, layout, pool)), layout);
    const std::vector<std::byte> bytes = BytesOf("blk.1.ffn_up.weight", layout, units);
    std::vector<float> found(numbers.size());
    if (encoding == WeightEncoding::kFloat32) {
      std::memcpy(found.data(), bytes.data(), bytes.size());
    } else {
      AlignedBuffer aligned = Must(AlignedBuffer::Allocate(static_cast<int64_t>(bytes.size())));
      std::copy(bytes.begin(), bytes.end(), aligned.data());
      const PackedMatrix matrix = Must(PackedMatrix::Open({"up", F::kQ4_0, 96, 64}, aligned.bytes()));
      for (int64_t row = 0; row < 96; ++row) matrix.ReadRow(row, found.data() + row * 64);
    }
    EXPECT_EQ(found, expected) << static_cast<int>(encoding);
    EXPECT_EQ(layout.Parts("blk.0.attn_q.weight")[0].weight.spec.format, F::kF16);
  }
}

TEST(WeightLayout, AFormThatCannotHoldAMatrixIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("m.gguf");
  TinyModelBuilder({.feed_forward = 16416, .layers = 1}).WriteTo(path);
  const std::string wide = WhyNot(path, WeightEncoding::kTiles);
  EXPECT_TRUE(absl::StartsWith(wide, path + ": tensor blk.0.ffn_down.weight as int8-tile: ffn_down.weight")) << wide;
  EXPECT_TRUE(absl::StrContains(wide, "found 16416, expected <= 16384")) << wide;
  EXPECT_EQ(WhyNot(path, WeightEncoding::kTiles, Recipe("int4-tile,ffn_down=keep")), "") << "the CPU has no such limit";
  EXPECT_EQ(WhyNot(path, WeightEncoding::kPacked, Recipe("attn_q=Q6_K")), "") << "Q8_0 takes its place";
  TinyModelBuilder({.tied = true}).WriteTo(path);
  EXPECT_EQ(WhyNot(path, WeightEncoding::kPacked, Recipe("embedding=Q4_0")),
            path + ": recipe: found embedding=Q4_0 for a model whose embedding table is its head, expected head=Q4_0");
}

TEST(FillUnit, ANumberThatNoScaleCanHoldIsNamed) {
  GgufBuilder builder = TinyModelBuilder({.without = {"blk.0.ffn_up.weight"}});
  std::vector<float> numbers(96 * 64, 1.0f);
  numbers[70] = 1e30f;
  builder.Tensor("blk.0.ffn_up.weight", {64, 96}, 0, std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * 4));
  const TemporaryFolder folder;
  const std::string path = folder.Path("m.gguf");
  builder.WriteTo(path);
  const auto file = Must(GgufFile::Open(path));
  const ModelConfig config = Must(ReadModelConfig(*file));
  ThreadPool pool(1);
  const auto message = [&](const char* recipe, WeightEncoding encoding) {
    return std::string(LoadResident(*file, Must(WeightLayout::Plan(*file, config, encoding, Recipe(recipe))), pool).status().message());
  };
  EXPECT_TRUE(absl::StartsWith(message("001", WeightEncoding::kTiles), path + ": tensor blk.0.ffn_up.weight"))
      << message("001", WeightEncoding::kTiles);
  EXPECT_TRUE(absl::StartsWith(message("Q8_0", WeightEncoding::kPacked), path + ": tensor blk.0.ffn_up.weight: number 70: found 1e+30"))
      << message("Q8_0", WeightEncoding::kPacked);
}

TEST(PackModel, ARecipeIsKeptInTheFileAndItsUnitsEqualTheUnitsOfLoading) {
  const TemporaryFolder folder;
  const std::string gguf = folder.Path("m.gguf"), tsr = folder.Path("m.tsr");
  TinyModelBuilder({.architecture = "gemma3", .formats = {F::kQ4_0, F::kQ4_1}}).WriteTo(gguf);
  for (const std::string recipe : {"001", "int8-tensor,head=Q8_0", "Q8_0", "keep"}) {
    PackFile(gguf, tsr, 3, recipe);
    const auto file = Must(ModelFile::Open(tsr));
    const bool tiles = Recipe(recipe).has_tiles();
    EXPECT_TRUE(file->recipe() == Recipe(recipe)) << recipe;
    EXPECT_EQ(file->packed()->layout(), tiles ? "tessera-tiles-1" : "tessera-panels-1");
    EXPECT_TRUE(file->encoding() == (tiles ? WeightEncoding::kTiles : WeightEncoding::kPacked));
    const WeightLayout layout = Must(file->PlanWeights(ConfigOf(*file), file->encoding()));
    EXPECT_TRUE(layout.recipe() == file->recipe());
    EXPECT_TRUE(file->HoldsUnitsOf(layout));
    EXPECT_TRUE(file->CheckStreams(layout).ok());
    ThreadPool pool(2);
    const Units packed = UnitsOf(*Must(file->LoadWeights(layout, pool)), layout);
    const auto source = Must(ModelFile::Open(gguf));
    const WeightLayout loaded = Must(source->PlanWeights(ConfigOf(*source), file->encoding(), Recipe(recipe)));
    EXPECT_TRUE(packed == UnitsOf(*Must(source->LoadWeights(loaded, pool)), loaded)) << recipe;
  }
}

TEST(ModelFile, AFileInTilesIsRefusedElsewhereWithThePackingCommand) {
  const TemporaryFolder folder;
  const std::string gguf = folder.Path("m.gguf"), tsr = folder.Path("m.tsr");
  TinyModelBuilder({}).WriteTo(gguf);
  PackFile(gguf, tsr, 1, "001");
  for (const WeightEncoding encoding : {WeightEncoding::kPacked, WeightEncoding::kFloat32}) {
    EXPECT_EQ(WhyNot(tsr, encoding), absl::StrCat(tsr, ": found weights in tiles (recipe 001), which only the npu path ",
                                                  "computes, expected panels; ", kPackAgain, kFiles));
  }
  EXPECT_EQ(WhyNot(tsr, WeightEncoding::kTiles), "");
  EXPECT_EQ(WhyNot(tsr, WeightEncoding::kTiles, Recipe("int4-tile,ffn_down=int8-tile")), "");
  EXPECT_EQ(WhyNot(tsr, WeightEncoding::kTiles, Recipe("qnn")),
            absl::StrCat(tsr, ": found weights of the recipe 001, expected qnn; ", kPackAgain, "-recipe=qnn ", kFiles));
  EXPECT_EQ(WhyNot(gguf, WeightEncoding::kPacked, Recipe("qnn")),
            gguf + ": found the recipe qnn for a path without tiles, expected the npu path");
}

TEST(ModelFile, AFileInOtherPanelsIsNotQuantizedTwice) {
  const TemporaryFolder folder;
  const std::string gguf = folder.Path("m.gguf"), tsr = folder.Path("m.tsr");
  TinyModelBuilder({}).WriteTo(gguf);
  PackFile(gguf, tsr, 1, "Q4_0");
  EXPECT_EQ(WhyNot(tsr, WeightEncoding::kPacked), "");
  EXPECT_EQ(WhyNot(tsr, WeightEncoding::kTiles),
            absl::StrCat(tsr, ": found weights in panels of the recipe Q4_0, expected those of the GGUF model, to be put in tiles; ",
                         kPackAgain, "-recipe=001 ", kFiles));
  EXPECT_EQ(WhyNot(tsr, WeightEncoding::kPacked, WeightRecipe()),
            absl::StrCat(tsr, ": found weights of the recipe Q4_0, expected keep; ", kPackAgain, kFiles));
}

TEST(ModelFile, PanelsArePutInTheTilesThatTheGgufFileGives) {
  for (const bool tied : {false, true}) {
    const PackedTiny model({.architecture = "qwen2",
                            .feed_forward = 160,
                            .tied = tied,
                            .formats = {F::kQ4_0, F::kQ8_0, F::kQ4_1, F::kIQ4_NL},
                            .biases = {"output.bias"}});
    for (const char* recipe : {"001", "ggml-hexagon", "qnn", "int4-tensor", "fp16,head=Q8_0", "keep"}) {
      EXPECT_TRUE(LoadedInTiles(model.packed(), Recipe(recipe)) == LoadedInTiles(model.gguf(), Recipe(recipe))) << recipe;
    }
    EXPECT_TRUE(LoadedInTiles(model.packed(), {}) == LoadedInTiles(model.gguf(), Recipe("001")));
    const auto file = Must(ModelFile::Open(model.packed()));
    const WeightLayout layout = Must(file->PlanWeights(ConfigOf(*file), WeightEncoding::kTiles));
    EXPECT_FALSE(file->HoldsUnitsOf(layout));
    EXPECT_EQ(file->CheckStreams(layout).message(),
              absl::StrCat(model.packed(), ": found weights in panels under a memory budget, expected them in tiles (recipe 001), as the ",
                           "npu path streams them; ", kPackAgain, "-recipe=001 ", kFiles));
  }
}

TEST(ModelFile, TilesMayBeCutElsewhereThanPanels) {
  const PackedTiny model({.formats = {F::kQ4_0, F::kQ4_1}});
  const auto file = Must(ModelFile::Open(model.packed()));
  const auto gguf = Must(GgufFile::Open(model.gguf()));
  const ModelConfig config = ConfigOf(*file);
  const WeightLayout panels = Must(WeightLayout::Plan(file->gguf(), config, WeightEncoding::kPacked));
  ThreadPool pool(2);
  for (const char* recipe : {"001", "int8-tensor"}) {
    const WeightLayout layout = Must(WeightLayout::Plan(*gguf, config, WeightEncoding::kTiles, Recipe(recipe), /*largest_unit=*/4000));
    ASSERT_GT(layout.Parts("token_embd.weight").size(), 1u);
    const Units expected = UnitsOf(*Must(LoadResident(*gguf, layout, pool)), layout);
    EXPECT_TRUE(UnitsOf(*Must(LoadRetiled(*file->packed(), panels, layout, pool, nullptr)), layout) == expected) << recipe;
  }
  const std::atomic<bool> cancel = true;
  EXPECT_TRUE(absl::IsCancelled(LoadRetiled(*file->packed(), panels, panels, pool, &cancel).status()));
}

TEST(ModelFile, AHostileRecipeIsRefused) {
  const TemporaryFolder folder;
  const std::string gguf = folder.Path("m.gguf"), tsr = folder.Path("m.tsr");
  TinyModelBuilder({}).WriteTo(gguf);
  const auto file = Must(GgufFile::Open(gguf));
  const PackPlan plan = Must(PackPlan::Make(*file, WeightRecipe::Default()));
  const auto message = [&](const std::function<void(TsrContents&, TsrAttachment& recipe)>& change) {
    TsrContents contents = plan.contents;
    for (TsrAttachment& each : contents.attachments) {
      if (each.name == "recipe") change(contents, each);
    }
    TsrWriter writer = Must(TsrWriter::Create(tsr, contents));
    for (const TsrUnit& unit : contents.units) Must(writer.Append(std::vector<std::byte>(unit.bytes)));
    Must(writer.Finish([](int64_t, int64_t) {}));
    const auto opened = ModelFile::Open(tsr);
    if (!opened.ok()) return std::string(opened.status().message());
    return std::string((*opened)->PlanWeights(Must(ReadModelConfig(*file)), (*opened)->encoding()).status().message());
  };
  const auto put = [](TsrAttachment& recipe, absl::string_view text) {
    const std::byte* const bytes = reinterpret_cast<const std::byte*>(text.data());
    recipe.bytes.assign(bytes, bytes + text.size());
  };
  const std::string place = tsr + ": attachment \"recipe\": ", again = "; pack the model again";
  const std::string of_tiles = ", expected a recipe of the file's layout, \"tessera-tiles-1\"" + again;
  EXPECT_EQ(message([](TsrContents&, TsrAttachment&) {}), "");
  EXPECT_EQ(message([&](TsrContents&, TsrAttachment& recipe) { put(recipe, "fp16,part=keep"); }),
            place + "found the part \"part\", expected one of head, embedding, attn_q, attn_k, attn_v, attn_output, ffn_gate, ffn_up, "
                    "ffn_down" + again);
  EXPECT_EQ(message([&](TsrContents&, TsrAttachment& recipe) { put(recipe, std::string(4097, 'x')); }),
            place + "found 4097 bytes, expected at most 4096" + again);
  EXPECT_EQ(message([&](TsrContents&, TsrAttachment& recipe) { put(recipe, "Q4_0"); }),
            place + "found Q4_0, the layout of which is \"tessera-panels-1\"" + of_tiles);
  EXPECT_EQ(message([&](TsrContents&, TsrAttachment& recipe) { recipe.name = "other"; }),
            place + "found none, the layout of which is \"tessera-panels-1\"" + of_tiles);
  EXPECT_EQ(message([&](TsrContents& contents, TsrAttachment&) { contents.layout = "tessera-panels-1"; }),
            place + "found int4-tile,ffn_down=int8-tile, the layout of which is \"tessera-tiles-1\", expected a recipe of the file's "
                    "layout, \"tessera-panels-1\"" + again);
  const std::string other = message([&](TsrContents&, TsrAttachment& recipe) { put(recipe, "fp16"); });
  EXPECT_TRUE(absl::StartsWith(other, tsr + ": unit 1 entry ")) << other << ": the units are of other forms";
}

TEST(ExactBlocks, EqualTheBlocksOfTheFile) {
  for (const F format : {F::kQ4_0, F::kIQ4_NL, F::kQ8_0}) {
    const std::vector<std::byte> blocks = RandomBlocks(format, 32 * 500, /*seed=*/7);
    std::vector<float> numbers(32 * 500);
    InfoOf(format).dequantize(blocks.data(), 32 * 500, numbers.data());
    std::vector<std::byte> found(blocks.size());
    EXPECT_TRUE(MakeExactBlocks(format, numbers.data(), 32 * 500, found.data()));
    EXPECT_TRUE(found == blocks) << InfoOf(format).name;
    numbers[40] = std::nextafter(numbers[40], 1e9f);
    EXPECT_FALSE(MakeExactBlocks(format, numbers.data(), 64, found.data())) << InfoOf(format).name;
    EXPECT_TRUE(MakeExactBlocks(format, numbers.data(), 32, found.data())) << "the block before it";
    for (const float bad : {std::nanf(""), HUGE_VALF}) {
      numbers[3] = bad;
      EXPECT_FALSE(MakeExactBlocks(format, numbers.data(), 32, found.data())) << bad;
    }
  }
}

// Codes that no tool would write: whatever blocks are found, they give the same numbers.
TEST(ExactBlocks, GiveTheNumbersOfAnyBlock) {
  for (const F format : {F::kQ4_0, F::kIQ4_NL, F::kQ8_0}) {
    const std::vector<std::byte> blocks = WildBlocks(format, 32 * 2000, /*seed=*/8);
    std::vector<float> numbers(32 * 2000), again(32 * 2000);
    InfoOf(format).dequantize(blocks.data(), 32 * 2000, numbers.data());
    std::fill_n(numbers.begin(), 32, 0.0f);
    std::vector<std::byte> found(blocks.size());
    ASSERT_TRUE(MakeExactBlocks(format, numbers.data(), 32 * 2000, found.data())) << InfoOf(format).name;
    InfoOf(format).dequantize(found.data(), 32 * 2000, again.data());
    EXPECT_EQ(again, numbers) << InfoOf(format).name;
  }
}

}  // namespace
}  // namespace tessera
