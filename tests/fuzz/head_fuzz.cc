// Draft heads of the EAGLE-3 kind: the text of a configuration, a zero byte, and the bytes of a safetensors file. What is refused is
// refused in words that name the file; what is accepted has one token of the model for each of its own, and computes rows whose bits do
// not depend on the rows beside them.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/eagle_head.h"
#include "tessera/tests/fakes/bad_eagle_heads.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr char kName[] = "head.safetensors", kConfiguration[] = "head.safetensors.json";
constexpr int kWidth = 8, kTokens = 12;

ThreadPool& OneThread() {
  static ThreadPool* pool = new ThreadPool(1);
  return *pool;
}

// The model whose head it is to be.
ModelConfig Target() {
  ModelConfig config;
  config.width = kWidth, config.vocabulary = kTokens;
  config.layers.resize(8);
  return config;
}

absl::Status Checked(const absl::Status& status) {
  CHECK(status.ok() || absl::StartsWith(status.message(), kName)) << status;
  CHECK(status.ok() || absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status)) << status;
  return status;
}

// Numbers may become too large for FP32: then there is none that another could differ from.
void CheckSame(const std::vector<float>& a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == b[i] || (!std::isfinite(a[i]) && !std::isfinite(b[i]))) << i;
}

// Three rows of a text and one of a tree, in passes of so many.
std::vector<float> Outs(const EagleHead& head, int together) {
  constexpr int kRows = 4;
  const std::vector<int> path = {2};
  const std::vector<float> input = {1, -1, 0.5f, 2, 0, -3, 0.25f, 1, 1, 1, -2, 0, 0.5f, -1, 3, 0};
  EagleMemory memory;
  std::vector<float> outs(kRows * kWidth);
  std::vector<EagleHead::Row> rows;
  for (int i = 0; i < kRows; ++i) rows.push_back({&input[0], &input[kWidth], i, i < 3 ? i : 2, i < 3 ? absl::Span<const int>() : path});
  for (int begin = 0; begin < kRows; begin += together) {
    const TensorView<float> out(&outs[static_cast<size_t>(begin) * kWidth], together, kWidth);
    const absl::Status ran = head.Run(absl::MakeConstSpan(rows).subspan(static_cast<size_t>(begin), static_cast<size_t>(together)), memory,
                                      out, OneThread());
    CHECK(ran.ok()) << ran;
  }
  return outs;
}

void Use(const EagleHead& head) {
  const EagleShape& shape = head.shape();
  CHECK(shape.width == kWidth && shape.heads % shape.kv_heads == 0 && shape.head_size % 2 == 0 && shape.vocabulary <= kTokens);
  std::set<TokenId> tokens;
  for (int entry = 0; entry < shape.vocabulary; ++entry) {
    const TokenId token = head.TokenOf(entry);
    CHECK(token >= 0 && token < kTokens && tokens.insert(token).second) << token;
  }
  int last = -1;
  for (const int layer : shape.layers) CHECK(layer > std::exchange(last, layer) && layer <= 8) << layer;
  std::vector<float> outs = Outs(head, 1), states(static_cast<size_t>(shape.fused()), 0.5f), fused(kWidth);
  CheckSame(outs, Outs(head, 4));
  EagleMemory memory;
  std::vector<float> logits(4 * static_cast<size_t>(shape.vocabulary));
  const absl::Status said = head.Logits({outs.data(), 4, kWidth}, {logits.data(), 4, shape.vocabulary}, OneThread(), memory);
  CHECK(said.ok()) << said;
  const absl::Status joined = head.Fuse({states.data(), 1, shape.fused()}, {fused.data(), 1, kWidth}, OneThread(), memory);
  CHECK(joined.ok()) << joined;
  if (head.has_embeddings()) head.Embed(kTokens - 1, fused.data());
}

EagleSizes Small() {
  return {.width = kWidth, .heads = 2, .kv_heads = 1, .head_size = 4, .feed_forward = 8, .vocabulary = 4, .target_vocabulary = kTokens,
          .first_token = 1, .step = 2, .layers = {2, 4, 5}, .numbers = "F16"};
}

std::string Joined(const EagleBuilder& builder) { return builder.Config() + '\0' + builder.File(); }

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  const absl::string_view all(reinterpret_cast<const char*>(input.data()), input.size());
  const size_t size = std::min(all.find('\0'), all.size());
  const auto file = SafetensorsFile::Parse(input.subspan(std::min(size + 1, all.size())), kName);
  RETURN_IF_ERROR(Checked(file.status()));
  const auto head = EagleHead::Read(**file, all.substr(0, size), kConfiguration, Target());
  RETURN_IF_ERROR(Checked(head.status()));
  Use(**head);
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds = {{"empty", ""}};
  const auto add = [&](const std::string& name, EagleSizes sizes, auto&& change) {
    EagleBuilder builder(sizes);
    change(builder);
    seeds.push_back({name, Joined(builder)});
  };
  const auto nothing = [](EagleBuilder&) {};
  EagleSizes wide = Small(), whole = Small();
  wide.numbers = "F32", wide.feed_forward = 2;
  whole.numbers = "BF16", whole.embeddings = true, whole.vocabulary = kTokens, whole.first_token = 0, whole.step = 1;
  add("good", Small(), nothing);
  add("wide", wide, nothing);
  add("whole", whole, [](EagleBuilder& b) { b.Remove("d2t"), b.Remove("t2d"); });
  add("usual_layers", Small(), [](EagleBuilder& b) { b.config.erase("eagle_config"); });
  add("layers_at_the_top", Small(), [](EagleBuilder& b) {
    b.config.erase("eagle_config"), b.config["eagle_aux_hidden_state_layer_ids"] = "[0,4,8]";
  });
  const std::string good = Joined(EagleBuilder(Small()));
  for (size_t cut = 1; cut < good.size(); cut += 97) seeds.push_back({absl::StrCat("cut_", cut), good.substr(0, cut)});
  for (const auto& [key, value] : EagleBuilder(Small()).config) {
    for (const char* other : {"null", "0", "-1", "1", "3", "1048577", "9223372036854775807", "1e300", "\"x\"", "[]", "{}", "true"}) {
      add(absl::StrCat(key, "_", seeds.size()), Small(), [&, key = key](EagleBuilder& b) { b.config[key] = other; });
    }
  }
  for (const EagleBuilder::Tensor& tensor : EagleBuilder(Small()).tensors) {
    add(absl::StrCat("without_", tensor.name), Small(), [&](EagleBuilder& b) { b.Remove(tensor.name); });
    add(absl::StrCat("short_", tensor.name), Small(), [&](EagleBuilder& b) { b.Reshape(tensor.name, {1}); });
    for (const char byte : {'\xff', '\x7b'}) {   // In F16: no number, and one near the largest.
      add(absl::StrCat("filled_", byte == '\xff', tensor.name), Small(),
          [&](EagleBuilder& b) { b.Of(tensor.name).bytes.assign(tensor.bytes.size(), byte); });
    }
  }
  for (const BadEagleHead& row : BadEagleConfigurations()) add("bad_" + row.name, Small(), row.spoil);
  return seeds;
}

}  // namespace tessera
