// Exit predictors and exit maps, which are safetensors files: what is refused is refused in words that name the file and can be shown; what
// is accepted is of the model's shape, and what it says of a state depends on no other state beside it.
//
// An input's first byte says whether the rest is read as a predictor or as a map.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/model/exit_map.h"
#include "tessera/model/exit_predictor.h"
#include "tessera/tests/fakes/bad_safetensors_files.h"
#include "tessera/tests/fakes/loaded_weights.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"
#include "tessera/tests/fuzz/refusal.h"

namespace tessera {
namespace {

constexpr char kName[] = "exit.safetensors";
constexpr int kPredictor = 0, kMap = 1, kKinds = 2;
constexpr int kWidth = 8;

ThreadPool& OneThread() {
  static ThreadPool* const pool = new ThreadPool(1);
  return *pool;
}

// A model of two layers, whose head a predictor of the kind "width" reads.
const LoadedWeights& TheModel() {
  static const LoadedWeights* const model =
      new LoadedWeights(TinyModelBuilder({.width = kWidth, .feed_forward = 8, .heads = 2, .kv_heads = 1, .head_size = 4,
                                          .formats = {BlockFormat::kF32}}));
  return *model;
}

// Numbers may become too large for FP32: then there is none that another could differ from.
bool Same(float a, float b) { return a == b || (!std::isfinite(a) && !std::isfinite(b)); }

std::vector<float> States() { return {1, -1, 0.5f, 2, 0, -3, 0.25f, 1, 1, 1, -2, 0, 0.5f, -1, 3, 0}; }   // Two rows.

absl::Status UsePredictor(const SafetensorsFile& file) {
  const LoadedWeights& model = TheModel();
  const auto predictor = ExitPredictor::Read(file, model.config(), model.layout(), model.source());
  if (!predictor.ok()) return Refused(predictor.status(), kName);
  CHECK_EQ(predictor->layer(), 1);
  CHECK(predictor->bytes() > 0 && predictor->CheckFits(model.config(), model.source()).ok());
  const std::vector<float> states = States();
  const std::vector<TokenId> tokens = {0, 7, kTinyVocabulary - 1};
  std::vector<float> alone(3), first(3), second(3);
  const auto question = [&](int row, std::vector<float>& scores) {
    return ExitPredictor::Question{&states[static_cast<size_t>(row) * kWidth], tokens, absl::MakeSpan(scores)};
  };
  Must(predictor->Score({question(1, alone)}, OneThread()));
  Must(predictor->Score({question(0, first), question(1, second)}, OneThread()));
  for (size_t i = 0; i < alone.size(); ++i) CHECK(Same(alone[i], second[i])) << i;
  const std::vector<TokenId> none = {kTinyVocabulary};
  CHECK(absl::IsInvalidArgument(predictor->Score({{states.data(), none, absl::MakeSpan(alone).first(1)}}, OneThread())));
  return absl::OkStatus();
}

absl::Status UseMap(const SafetensorsFile& file) {
  const auto map = ExitMap::Read(file, TheModel().config());
  if (!map.ok()) return Refused(map.status(), kName);
  const std::vector<float> states = States();
  std::vector<float> together(2 * kWidth), alone(kWidth);
  Must((*map)->Apply({states.data(), 2, kWidth}, {together.data(), 2, kWidth}, OneThread()));
  Must((*map)->Apply({&states[kWidth], 1, kWidth}, {alone.data(), 1, kWidth}, OneThread()));
  for (int i = 0; i < kWidth; ++i) CHECK(Same(alone[static_cast<size_t>(i)], together[static_cast<size_t>(kWidth + i)])) << i;
  CHECK_GT((*map)->bytes(), 0);
  return absl::OkStatus();
}

std::string File(const std::string& texts, const std::string& tensor, const std::string& type, int rows, int number_bytes) {
  SafetensorsBuilder builder;
  builder.metadata = texts;
  const int bytes = rows * kWidth * number_bytes;
  builder.entries = {{tensor, absl::StrCat("\"", type, "\""), absl::StrCat("[", rows, ",", kWidth, "]"), absl::StrCat("[0,", bytes, "]")}};
  builder.data.clear();
  for (int i = 0; i < bytes; ++i) builder.data += static_cast<char>(i % number_bytes == number_bytes - 1 ? 0x3c + i % 3 : i % 7);
  return builder.Build();
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  if (input.empty()) return absl::InvalidArgumentError("no kind of input");
  const auto file = SafetensorsFile::Parse(input.subspan(1), kName);
  if (!file.ok()) return Refused(file.status(), kName);
  return static_cast<uint8_t>(input[0]) % kKinds == kPredictor ? UsePredictor(**file) : UseMap(**file);
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds;
  const auto add = [&](const std::string& name, const std::string& bytes) {
    for (const int kind : {kPredictor, kMap}) {
      seeds.push_back({absl::StrCat(name, "_", kind), std::string(1, static_cast<char>(kind)) + bytes});
    }
  };
  const std::string of_width = R"({"kind":"width","layer":"1","layers":"2"})", of_words = R"({"kind":"vocabulary","layer":"1"})";
  const std::string map = "predictor.map", rows = "predictor.weight";
  add("nothing", "");
  add("width", File(of_width, map, "F32", kWidth, 4));
  add("width_half", File(of_width, map, "F16", kWidth, 2));
  add("map", File(R"({"kind":"width","layer":"2"})", map, "BF16", kWidth, 2));
  add("map_alone", File("{}", map, "F32", kWidth, 4));
  add("vocabulary", File(of_words, rows, "F16", kTinyVocabulary, 2));
  add("too_few_rows", File(of_words, rows, "F16", kTinyVocabulary - 1, 2));
  add("another_type", File(of_width, map, "I32", kWidth, 4));
  add("another_name", File(of_width, "predictor.maps", "F32", kWidth, 4));
  for (const char* value : {"", "0", "1", "2", "-1", "3", "99999999999", "01", "1 ", "\\n", "width", "vocabulary", "Width"}) {
    for (const char* key : {"kind", "layer", "layers"}) {
      std::string texts = of_width;
      const size_t begin = texts.find(absl::StrCat("\"", key, "\":\"")) + std::string(key).size() + 4;
      texts.replace(begin, texts.find('"', begin) - begin, value);
      add(absl::StrCat(key, "_", seeds.size()), File(texts, map, "F32", kWidth, 4));
    }
  }
  std::string infinite = File(of_width, map, "F32", kWidth, 4);
  infinite.replace(infinite.size() - 4, 4, std::string("\0\0\x80\x7f", 4));
  add("infinite", infinite);
  for (const BadSafetensors& bad : BadSafetensorsFiles()) add(bad.name, bad.bytes);
  return seeds;
}

}  // namespace tessera
