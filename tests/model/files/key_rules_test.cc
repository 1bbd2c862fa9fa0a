#include "tessera/model/files/internal/key_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/architecture.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

using Put = std::function<void(GgufBuilder&, const std::string& key)>;

template <typename T>
Put Value(T value) {
  return [=](GgufBuilder& builder, const std::string& key) { builder.Number(key, value); };
}
Put Text(const std::string& text) {
  return [=](GgufBuilder& builder, const std::string& key) { builder.String(key, text); };
}

// A model file with one key put in, in the place of another value if it had one.
class Changed {
 public:
  Changed(GgufBuilder builder, const std::string& key, const Put& put) : builder_(std::move(builder)), key_(key) {
    builder_.Build();
    if (builder_.fields().count("metadata " + key + " type") == 1) builder_.Remove(key);
    put(builder_, key);
    bytes_ = builder_.Build();
    file_ = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size()}, "tiny"));
  }

  const GgufFile& file() const { return *file_; }
  absl::Status Config() const { return ReadModelConfig(*file_).status(); }
  absl::Status Tokens() const { return ReadTokenizer(*file_).status(); }

  // That a refusal names the file, the key, the value's place, what was found and what was expected.
  void ExpectRefused(const absl::Status& status) const {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << key_ << ": " << status;
    const size_t offset = builder_.OffsetOf("metadata " + key_ + " value");
    const std::string start = absl::StrCat("tiny: metadata \"", key_, "\" value at byte ", offset);
    EXPECT_TRUE(absl::StartsWith(status.message(), start + ": found ")) << status << "\nexpected " << start;
    EXPECT_NE(status.message().find(", expected "), absl::string_view::npos) << status;
  }

 private:
  GgufBuilder builder_;
  const std::string key_;
  std::string bytes_;
  std::unique_ptr<GgufFile> file_;
};

// Small, since it is written some thousand times.
GgufBuilder SmallModel(const std::string& architecture = "llama") {
  return TinyModelBuilder({.architecture = architecture, .width = 32, .feed_forward = 32, .heads = 2, .kv_heads = 1, .layers = 1,
                           .window = architecture == "gemma3" ? 6 : 0});
}

// Values that a rule accepts and refuses.
struct Samples { std::vector<Put> right, wrong; };

Samples SamplesOf(const KeyRule& rule) {
  switch (rule.judgement) {
    case KeyRule::kRead: return {{}, {Text("wrong")}};
    case KeyRule::kNoEffect: return {{Value(7u), Value(0.5f), Value(true), Text("anything")}, {}};
    case KeyRule::kNone: return {{Value(0u), Value(0.0f), Value(false), Text("")}, {Value(7u), Value(0.5f), Value(true), Text("wrong")}};
    case KeyRule::kOne: return {{Value(1.0f), Value(1u)}, {Value(2.0f), Value(0.5f), Value(0u), Text("1")}};
    case KeyRule::kTrue: return {{Value(true)}, {Value(false), Value(1u)}};
    case KeyRule::kText: {
      Samples samples = {{}, {Text("wrong"), Text(""), Value(1u)}};
      for (absl::string_view text : absl::StrSplit(rule.texts, '|')) samples.right.push_back(Text(std::string(text)));
      return samples;
    }
  }
  return {};
}

std::string KeyOf(const std::string& prefix, const KeyRule& rule) {
  absl::string_view key = rule.key;
  return absl::ConsumeSuffix(&key, "*") ? absl::StrCat(prefix, key, "some") : absl::StrCat(prefix, key);
}

TEST(KeyRules, HeaderExample) {
  GgufBuilder builder;
  const std::string bytes = builder.Number("foo.final_logit_softcapping", 30.0f).Build();
  const auto file_owner = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "tiny"));
  const GgufFile& file = *file_owner;
  const auto run = [&]() -> absl::Status {
    static constexpr KeyRule kOwn[] = {{"final_logit_softcapping", KeyRule::kNone, "a soft cap of logits"}};
    RETURN_IF_ERROR(JudgeKeys(file, "foo.", {kOwn, DecoderKeys()}));
    return absl::OkStatus();
  };
  EXPECT_EQ(run().message(), "tiny: metadata \"foo.final_logit_softcapping\" value at byte 63: found FLOAT32 30, "
                             "expected 0, false or nothing; not supported here: a soft cap of logits");
}

TEST(KeyRules, EveryKeyOfEveryArchitectureIsJudgedByItsValue) {
  for (const Architecture* const architecture : Architectures()) {
    const std::string prefix = absl::StrCat(architecture->name, ".");
    const GgufBuilder model = SmallModel(architecture->name);
    for (const KeyRules table : {architecture->keys, DecoderKeys()}) {
      for (const KeyRule& rule : table) {
        const std::string key = KeyOf(prefix, rule);
        const KeyRule* const first = FindKeyRule(key.substr(prefix.size()), {architecture->keys, DecoderKeys()});
        if (first != &rule) continue;  // The architecture has its own.
        EXPECT_NE(rule.why[0], '\0') << key;
        const Samples samples = SamplesOf(rule);
        for (const Put& put : samples.right) EXPECT_EQ(Changed(model, key, put).Config(), absl::OkStatus()) << key;
        for (const Put& put : samples.wrong) {
          const Changed changed(model, key, put);
          changed.ExpectRefused(changed.Config());
        }
      }
    }
  }
}

TEST(KeyRules, AnUnknownKeyOfTheArchitectureIsRefusedByItsName) {
  for (const Architecture* const architecture : Architectures()) {
    const GgufBuilder model = SmallModel(architecture->name);
    const Changed changed(model, absl::StrCat(architecture->name, ".attention.novelty"), Value(2u));
    changed.ExpectRefused(changed.Config());
    EXPECT_NE(changed.Config().message().find("found UINT32 2, expected no key of this name"), absl::string_view::npos);
    EXPECT_NE(changed.Config().message().find("gguf-new-metadata"), absl::string_view::npos);
  }
}

TEST(KeyRules, KeysOfOthersAreNotJudged) {
  const GgufBuilder model = SmallModel();
  for (const char* key : {"general.novelty", "quantize.imatrix.file", "qwen2.expert_count", "llamas.novelty"}) {
    EXPECT_EQ(Changed(model, key, Text("x")).Config(), absl::OkStatus()) << key;
  }
}

TEST(KeyRules, EveryKeyOfTokenizersIsJudgedByItsValue) {
  const GgufBuilder model = SmallModel();
  for (const KeyRule& rule : TokenizerKeys()) {
    const std::string key = KeyOf("tokenizer.", rule);
    const Samples samples = SamplesOf(rule);
    if (rule.judgement == KeyRule::kRead) continue;  // Tests of tokenizers and templates show that each is read.
    for (const Put& put : samples.right) EXPECT_EQ(Changed(model, key, put).Tokens(), absl::OkStatus()) << key;
    for (const Put& put : samples.wrong) {
      const Changed changed(model, key, put);
      changed.ExpectRefused(changed.Tokens());
    }
  }
  const Changed unknown(model, "tokenizer.ggml.novelty", Value(true));
  unknown.ExpectRefused(unknown.Tokens());
}

// A list that replaces no characters, as an empty one, is as good as none.
TEST(KeyRules, ListsOfZerosAreNone) {
  const auto charsmap = [](const std::string& bytes) {
    return [=](GgufBuilder& builder, const std::string& key) { builder.Array(key, GgufType::kUint8, bytes.size(), bytes); };
  };
  const std::string key = "tokenizer.ggml.precompiled_charsmap";
  EXPECT_EQ(Changed(SmallModel(), key, charsmap("")).Tokens(), absl::OkStatus());
  const Changed changed(SmallModel(), key, charsmap(std::string("\0\1", 2)));
  changed.ExpectRefused(changed.Tokens());
  const Put zeros = [](GgufBuilder& builder, const std::string& name) { builder.Numbers<int32_t>(name, {0, 0, 0, 0}); };
  EXPECT_EQ(Changed(SmallModel(), "llama.rope.dimension_sections", zeros).Config(), absl::OkStatus());
  const Put sections = [](GgufBuilder& builder, const std::string& name) { builder.Numbers<int32_t>(name, {8, 0, 0, 0}); };
  const Changed turned(SmallModel(), "llama.rope.dimension_sections", sections);
  turned.ExpectRefused(turned.Config());
}

TEST(KeyRules, EveryTokenThatIsListedAsAnEndIsOne) {
  const auto ends = [](std::vector<int32_t> ids) { return [=](GgufBuilder& b, const std::string& key) { b.Numbers(key, ids); }; };
  const std::string key = "tokenizer.ggml.eos_token_ids";
  const GgufBuilder model = SmallModel();
  const int eos = Must(ReadTokenizer(Changed(model, "general.name", Text("tiny")).file()))->eos().value();
  EXPECT_EQ(Changed(model, key, ends({eos})).Tokens(), absl::OkStatus());
  EXPECT_EQ(Changed(model, key, ends({})).Tokens(), absl::OkStatus());
  EXPECT_TRUE(Must(ReadTokenizer(Changed(model, key, ends({eos, 'a'})).file()))->IsEnd('a'));
  for (const int wrong : {-1, kTinyVocabulary}) {
    const absl::Status status = Changed(model, key, ends({eos, wrong})).Tokens();
    EXPECT_NE(status.message().find("value[1] at byte "), absl::string_view::npos) << status;
    const std::string found = absl::StrCat("found ", wrong, ", expected 0 to ", kTinyVocabulary - 1);
    EXPECT_NE(status.message().find(found), absl::string_view::npos) << status;
  }
}

// As Ollama's converter writes them.
TEST(KeyRules, FurtherKeysOfSpecialTokens) {
  for (const char* token : {"bos", "unknown", "seperator", "padding", "cls", "mask"}) {
    const Put ids = [](GgufBuilder& builder, const std::string& key) { builder.Numbers<int32_t>(key, {3, 4}); };
    EXPECT_EQ(Changed(SmallModel(), absl::StrCat("tokenizer.ggml.", token, "_token_ids"), ids).Tokens(), absl::OkStatus()) << token;
  }
  EXPECT_EQ(Changed(SmallModel(), "tokenizer.ggml.add_seperator_token", Value(false)).Tokens(), absl::OkStatus());
  const Changed added(SmallModel(), "tokenizer.ggml.add_seperator_token", Value(true));
  added.ExpectRefused(added.Tokens());
}

// A packed model keeps its file's header.
TEST(KeyRules, KeysOfAPackedModelAreJudgedInTheSameWay) {
  const Changed changed(SmallModel(), "llama.residual_scale", Value(0.5f));
  const auto packed = Must(GgufFile::ParseHeaders({Must(changed.file().HeaderOf(0))}, "model.tsr"));
  EXPECT_EQ(ReadModelConfig(*packed).status().message(), absl::StrCat("model.tsr", changed.Config().message().substr(4)));
  changed.ExpectRefused(changed.Config());
}

TEST(KeyRules, AFileThatIsNoModelIsRefusedByItsKind) {
  const std::pair<const char*, const char*> kinds[] = {
      {"adapter", "an adapter"}, {"mmproj", "tower"}, {"projector", "tower"}, {"imatrix", "importance matrix"}, {"vocab", "vocabulary"}};
  for (const auto& [type, what] : kinds) {
    const Changed changed(SmallModel(), "general.type", Text(type));
    changed.ExpectRefused(changed.Config());
    EXPECT_NE(changed.Config().message().find(what), absl::string_view::npos) << changed.Config();
  }
  const Changed other(SmallModel(), "general.type", Text("novelty"));
  other.ExpectRefused(other.Config());
  EXPECT_EQ(Changed(SmallModel(), "general.type", Text("model")).Config(), absl::OkStatus());
  const Changed adapter(SmallModel(), "adapter.lora.alpha", Value(16.0f));
  adapter.ExpectRefused(adapter.Config());
}

TEST(KeyRules, BlocksOfAnotherVersionAreRefused) {
  EXPECT_EQ(Changed(SmallModel(), "general.quantization_version", Value(2u)).Config(), absl::OkStatus());
  const Changed changed(SmallModel(), "general.quantization_version", Value(1u));
  changed.ExpectRefused(changed.Config());
}

std::string PeerSource() {
  FILE* const run = popen(TESSERA_SOURCE_DIR "/scripts/fetch_peer_source.sh", "r");
  CHECK(run != nullptr);
  std::array<char, 4096> line;
  const bool found = fgets(line.data(), line.size(), run) != nullptr;
  CHECK(pclose(run) == 0 && found) << "scripts/fetch_peer_source.sh gave no folder";
  return std::string(absl::StripSuffix(line.data(), "\n"));
}

std::string ContentOf(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream content;
  content << in.rdbuf();
  CHECK(in.good()) << path;
  return content.str();
}

// The keys that llama.cpp knows of any architecture, and those that its converters write.
TEST(KeyRules, EveryKeyThatAnotherEngineKnowsIsJudged) {
  const std::string source = PeerSource();
  const std::pair<std::string, std::regex> lists[] = {
      {ContentOf(source + "/src/llama-arch.cpp"), std::regex("\"%s\\.([^\"]+)\"")},
      {ContentOf(source + "/gguf-py/gguf/constants.py"), std::regex("\"\\{arch\\}\\.([^\"{}]+)\"")}};
  for (const auto& [text, pattern] : lists) {
    int keys = 0;
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match, ++keys) {
      EXPECT_NE(FindKeyRule((*match)[1].str(), {DecoderKeys()}), nullptr) << (*match)[1];
    }
    EXPECT_GT(keys, 100);
    const std::regex tokenizers("\"tokenizer\\.([^\"{}]+)\"");
    for (std::sregex_iterator match(text.begin(), text.end(), tokenizers), end; match != end; ++match) {
      EXPECT_NE(FindKeyRule((*match)[1].str(), {TokenizerKeys()}), nullptr) << (*match)[1];
    }
  }
}

}  // namespace
}  // namespace tessera
