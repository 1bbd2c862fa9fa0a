#include "tessera/model/eagle_head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/bad_eagle_heads.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

using Numbers = std::vector<double>;

ModelConfig Target(int layers = 2) {
  ModelConfig config;
  config.width = 64, config.vocabulary = 265;
  config.layers.resize(static_cast<size_t>(layers));
  return config;
}

std::shared_ptr<const EagleHead> HeadOf(const EagleBuilder& builder) {
  const std::string bytes = builder.File();
  const auto file = Must(SafetensorsFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "head"));
  return Must(EagleHead::Read(*file, builder.Config(), "head.json", Target()));
}

std::vector<float> RandomFloats(int64_t count, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = random.Uniform(-2, 2);
  return numbers;
}

// The head in double precision, from the same numbers, one row after another.
class PlainHead {
 public:
  explicit PlainHead(EagleBuilder builder) : sizes_(builder.sizes()) {
    for (const EagleBuilder::Tensor& tensor : builder.tensors) {
      if (tensor.dtype == "I64" || tensor.dtype == "BOOL") continue;
      const std::vector<float> floats = builder.Floats(tensor.name);
      tensors_[tensor.name] = Numbers(floats.begin(), floats.end());
    }
  }

  Numbers Times(const std::string& name, const Numbers& x) const {
    const Numbers& w = tensors_.at(name);
    Numbers y(w.size() / x.size());
    for (size_t r = 0; r < y.size(); ++r) {
      for (size_t c = 0; c < x.size(); ++c) y[r] += w[r * x.size() + c] * x[c];
    }
    return y;
  }

  // Sees the rows that are named, in the order of Run, and itself.
  Numbers Run(const Numbers& embedding, const Numbers& feature, int position, const std::vector<int>& seen) {
    const std::string layer = "midlayer.", attention = layer + "self_attn.";
    Numbers x = Norm(embedding, layer + "input_layernorm.weight");
    const Numbers second = Norm(feature, layer + "hidden_norm.weight");
    x.insert(x.end(), second.begin(), second.end());
    const Numbers query = Turned(Times(attention + "q_proj.weight", x), position);
    keys_.push_back(Turned(Times(attention + "k_proj.weight", x), position));
    values_.push_back(Times(attention + "v_proj.weight", x));
    std::vector<int> all = seen;
    all.push_back(static_cast<int>(keys_.size()) - 1);
    Numbers out = Plus(feature, Times(attention + "o_proj.weight", Attended(query, all)));
    const Numbers normed = Norm(out, layer + "post_attention_layernorm.weight");
    Numbers gate = Times(layer + "mlp.gate_proj.weight", normed);
    const Numbers up = Times(layer + "mlp.up_proj.weight", normed);
    for (size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    return Plus(out, Times(layer + "mlp.down_proj.weight", gate));
  }

  Numbers Logits(const Numbers& out) const { return Times("lm_head.weight", Norm(out, "norm.weight")); }

 private:
  static Numbers Plus(const Numbers& a, const Numbers& b) {
    Numbers sum = a;
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
    return sum;
  }

  Numbers Norm(const Numbers& x, const std::string& weight) const {
    double squares = 0;
    for (const double value : x) squares += value * value;
    Numbers y = x;
    for (size_t i = 0; i < y.size(); ++i) y[i] *= tensors_.at(weight)[i] / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
    return y;
  }

  Numbers Turned(Numbers x, int position) const {
    const int half = sizes_.head_size / 2;
    for (size_t begin = 0; begin < x.size(); begin += static_cast<size_t>(sizes_.head_size)) {
      for (int i = 0; i < half; ++i) {
        const double angle = position * std::pow(10'000.0, -2.0 * i / sizes_.head_size);
        double& a = x[begin + static_cast<size_t>(i)];
        double& b = x[begin + static_cast<size_t>(i + half)];
        const double first = a, second = b;
        a = first * std::cos(angle) - second * std::sin(angle), b = first * std::sin(angle) + second * std::cos(angle);
      }
    }
    return x;
  }

  Numbers Attended(const Numbers& query, const std::vector<int>& seen) const {
    const int size = sizes_.head_size, group = sizes_.heads / sizes_.kv_heads;
    Numbers mixed(query.size());
    for (int head = 0; head < sizes_.heads; ++head) {
      const size_t place = static_cast<size_t>(head * size), of = static_cast<size_t>(head / group * size);
      Numbers weights;
      double sum = 0;
      for (const int row : seen) {
        double score = 0;
        for (size_t d = 0; d < static_cast<size_t>(size); ++d) score += query[place + d] * keys_[static_cast<size_t>(row)][of + d];
        weights.push_back(std::exp(score / std::sqrt(size)));
        sum += weights.back();
      }
      for (size_t i = 0; i < seen.size(); ++i) {
        const Numbers& value = values_[static_cast<size_t>(seen[i])];
        for (size_t d = 0; d < static_cast<size_t>(size); ++d) mixed[place + d] += weights[i] / sum * value[of + d];
      }
    }
    return mixed;
  }

  const EagleSizes sizes_;
  std::map<std::string, Numbers> tensors_;
  std::vector<Numbers> keys_, values_;
};

// Rows of a text and of a tree behind it, as one program for the head and the plain one.
struct Program {
  struct Row { int position, prefix; std::vector<int> path; };
  std::vector<Row> rows = {{0, 0, {}}, {1, 1, {}}, {2, 2, {}}, {7, 3, {}},              // The text, with a gap,
                           {8, 4, {}}, {8, 4, {}}, {9, 4, {4}}, {9, 4, {5}}, {10, 4, {4, 6}}};   // two children, theirs, and one more.
  std::vector<float> embeddings = RandomFloats(9 * 64, 1), features = RandomFloats(9 * 64, 2);

  EagleHead::Row RowOf(size_t i) const {
    return {&embeddings[i * 64], &features[i * 64], rows[i].position, rows[i].prefix, rows[i].path};
  }
  // In passes of so many rows.
  std::vector<float> Outs(const EagleHead& head, const std::vector<size_t>& passes, int threads) const {
    ThreadPool pool(threads);
    EagleMemory memory;
    std::vector<float> outs(rows.size() * 64);
    size_t done = 0;
    for (const size_t count : passes) {
      std::vector<EagleHead::Row> some;
      for (size_t i = done; i < done + count; ++i) some.push_back(RowOf(i));
      Must(head.Run(some, memory, {&outs[done * 64], static_cast<int64_t>(count), 64}, pool));
      done += count;
    }
    EXPECT_EQ(memory.slots(), static_cast<int>(rows.size()));
    return outs;
  }
};

TEST(EagleHead, HeaderExample) {
  const TemporaryFolder folder;
  EagleBuilder().WriteTo(folder.Path("eagle.safetensors"));
  ThreadPool pool(1);
  std::vector<float> numbers = RandomFloats(3 * 64 + 64 + 64 + 64 + 40, 1);
  const TensorView<float> states(numbers.data(), 1, 192), features(&numbers[192], 1, 64);
  const TensorView<float> out(&numbers[320], 1, 64), logits(&numbers[384], 1, 40);
  const float* const e = &numbers[256];
  const auto run = [&]() -> absl::StatusOr<TokenId> {
    ASSIGN_OR_RETURN(const std::shared_ptr<const EagleHead> head, EagleHead::Open(folder.Path("eagle.safetensors"), Target()));
    EagleMemory memory;
    RETURN_IF_ERROR(head->Fuse(states, features, pool, memory));
    const float* const f = features.data();
    RETURN_IF_ERROR(head->Run({{.embedding = e, .feature = f, .position = 7, .prefix = memory.slots()}}, memory, out, pool));
    RETURN_IF_ERROR(head->Logits(out, logits, pool, memory));
    const int best = static_cast<int>(std::max_element(&numbers[384], &numbers[384] + 40) - &numbers[384]);
    return head->TokenOf(best);
  };
  EXPECT_EQ(Must(run()) % 5, 2);
}

TEST(EagleHead, ValuesMatchAPlainComputation) {
  for (const auto& [numbers, most] : {std::pair("F32", 1e-4), {"F16", 1e-4}, {"BF16", 1e-4}}) {
    const EagleBuilder builder({.numbers = numbers});
    const auto head = HeadOf(builder);
    const Program program;
    const std::vector<float> outs = program.Outs(*head, {4, 5}, 2);
    PlainHead plain(builder);
    ThreadPool pool(1);
    EagleMemory memory;
    std::vector<float> logits(9 * 40);
    Must(head->Logits({outs.data(), 9, 64}, {logits.data(), 9, 40}, pool, memory));
    const auto at = [](const std::vector<float>& all, size_t row) { return Numbers(&all[row * 64], &all[row * 64] + 64); };
    for (size_t r = 0; r < 9; ++r) {
      std::vector<int> seen;
      for (int slot = 0; slot < program.rows[r].prefix; ++slot) seen.push_back(slot);
      seen.insert(seen.end(), program.rows[r].path.begin(), program.rows[r].path.end());
      const Numbers out = plain.Run(at(program.embeddings, r), at(program.features, r), program.rows[r].position, seen);
      for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(outs[r * 64 + i], out[i], most * (1 + std::abs(out[i]))) << numbers << " " << r;
      const Numbers expected = plain.Logits(out);
      for (size_t i = 0; i < 40; ++i) EXPECT_NEAR(logits[r * 40 + i], expected[i], 10 * most * (1 + std::abs(expected[i]))) << numbers;
    }
  }
}

TEST(EagleHead, FusesStatesByItsMatrix) {
  const EagleBuilder builder;
  const auto head = HeadOf(builder);
  const std::vector<float> states = RandomFloats(2 * 192, 3);
  std::vector<float> features(2 * 64), copy = states;
  ThreadPool pool(1);
  EagleMemory memory;
  Must(head->Fuse({copy.data(), 2, 192}, {features.data(), 2, 64}, pool, memory));
  for (size_t r = 0; r < 2; ++r) {
    const Numbers expected = PlainHead(builder).Times("fc.weight", Numbers(&states[r * 192], &states[r * 192] + 192));
    for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(features[r * 64 + i], expected[i], 1e-4);
  }
}

TEST(EagleHead, ARowsBitsDoNotDependOnOtherRows) {
  const auto head = HeadOf(EagleBuilder({.numbers = "F16"}));
  const Program program;
  const std::vector<float> alone = program.Outs(*head, std::vector<size_t>(9, 1), 1);
  EXPECT_EQ(program.Outs(*head, {4, 2, 2, 1}, 1), alone);
  EXPECT_EQ(program.Outs(*head, {9}, 1), alone);
  EXPECT_EQ(program.Outs(*head, {3, 6}, 3), alone);
}

TEST(EagleHead, ForgottenSlotsLeaveTheOthersUnchanged) {
  const auto head = HeadOf(EagleBuilder());
  const Program program;
  ThreadPool pool(1);
  EagleMemory memory, other;
  std::vector<float> outs(3 * 64), again(3 * 64);
  Must(head->Run({program.RowOf(0), program.RowOf(1), program.RowOf(2)}, memory, {outs.data(), 3, 64}, pool));
  EXPECT_EQ(memory.slots(), 3);
  memory.Truncate(1);
  Must(head->Run({program.RowOf(1), program.RowOf(2)}, memory, {&again[64], 2, 64}, pool));
  EXPECT_TRUE(std::equal(outs.begin() + 64, outs.end(), again.begin() + 64));
  // Row 1 alone is left. Its key and value do not depend on what it saw.
  memory.Truncate(2);
  memory.EraseFirst(1);
  EXPECT_EQ(memory.slots(), 1);
  EagleHead::Row first = program.RowOf(1), next = program.RowOf(2);
  first.prefix = 0, next.prefix = 1;
  Must(head->Run({first}, other, {outs.data(), 1, 64}, pool));
  Must(head->Run({next}, other, {&outs[64], 1, 64}, pool));
  Must(head->Run({next}, memory, {again.data(), 1, 64}, pool));
  EXPECT_TRUE(std::equal(again.begin(), again.begin() + 64, outs.begin() + 64));
  EXPECT_GT(memory.bytes(), 0);
}

TEST(EagleHead, FilesThatAreWrongAreRefusedByName) {
  EXPECT_GE(BadEagleHeads().size(), 40u);
  for (const BadEagleHead& row : BadEagleHeads()) {
    EagleBuilder builder;
    row.spoil(builder);
    const TemporaryFolder folder;
    const std::string path = folder.Path("head.safetensors");
    builder.WriteTo(path);
    const absl::Status status = EagleHead::Open(path, Target()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.name << ": " << status;
    const std::string expected = absl::StrReplaceAll(row.message, {{"FILE", path}});
    if (absl::EndsWith(expected, "*")) {
      EXPECT_TRUE(absl::StartsWith(status.message(), expected.substr(0, expected.size() - 1))) << row.name << ": " << status;
    } else {
      EXPECT_EQ(std::string(status.message()), expected) << row.name;
    }
  }
}

TEST(EagleHead, TheConfigurationIsBesideTheTensorsOrInTheirFolder) {
  const TemporaryFolder folder;
  const std::string tensors = folder.Path("model.safetensors");
  EagleBuilder().WriteTo(tensors, folder.Path("config.json"));
  EXPECT_EQ(Must(EagleHead::Open(folder.path(), Target()))->shape().layers, std::vector<int>({0, 1, 2}));
  EXPECT_EQ(Must(EagleHead::Open(tensors, Target()))->shape().vocabulary, 40);
  std::filesystem::remove(folder.Path("config.json"));
  const absl::Status missing = EagleHead::Open(tensors, Target()).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_TRUE(absl::StrContains(missing.message(), "config.json")) << missing;
}

TEST(EagleHead, LayersAreCountedAsTheirPlaceInTheConfigurationSays) {
  const auto layers_of = [](const std::function<void(EagleBuilder&)>& change) {
    EagleBuilder builder;
    change(builder);
    const std::string bytes = builder.File();
    const auto file = Must(SafetensorsFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "head"));
    return Must(EagleHead::Read(*file, builder.Config(), "head.json", Target(30)))->shape().layers;
  };
  const std::string key = "eagle_aux_hidden_state_layer_ids";
  EXPECT_EQ(layers_of([](EagleBuilder& b) { b.config.erase("eagle_config"); }), std::vector<int>({2, 15, 27}));
  EXPECT_EQ(layers_of([&](EagleBuilder& b) { b.config.erase("eagle_config"), b.config[key] = "[1,9,30]"; }), std::vector<int>({1, 9, 30}));
  EXPECT_EQ(layers_of([&](EagleBuilder& b) { b.config["eagle_config"] = "{\"" + key + "\":[1,14,26]}"; }), std::vector<int>({2, 15, 27}));
}

TEST(EagleHead, AVocabularyAsLargeAsTheModelsNeedsNoMap) {
  EagleBuilder builder({.vocabulary = 265, .first_token = 0, .step = 1, .embeddings = true});
  builder.Remove("d2t");
  builder.Remove("t2d");
  const auto head = HeadOf(builder);
  EXPECT_EQ(head->TokenOf(264), 264);
  ASSERT_TRUE(head->has_embeddings());
  std::vector<float> row(64);
  head->Embed(3, row.data());
  const std::vector<float> all = builder.Floats("embed_tokens.weight");
  EXPECT_TRUE(std::equal(row.begin(), row.end(), all.begin() + 3 * 64));
  EXPECT_GT(head->bytes(), 265 * 64 * 4);
}

}  // namespace
}  // namespace tessera
