// The model loader: from the bytes of a GGUF file to the logits of one token, on both devices. A file that is refused is refused
// before its sizes are believed, and in words that name the file.
#include "absl/strings/match.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/model/files/recommended_sampling.h"
#include "tessera/model/pass_runner.h"
#include "tessera/model/text/chat_template.h"
#include "tessera/model/text/sampler.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/tiny_model.h"
#include "tessera/tests/fuzz/spoiled_files.h"

namespace tessera {
namespace {

constexpr char kName[] = "input.gguf";
constexpr int64_t kLargestModel = 4 << 20;  // A pass through more would take the time of a thousand other inputs.

ThreadPool& OneThread() {
  static ThreadPool* pool = new ThreadPool(1);
  return *pool;
}

absl::Status Checked(const absl::Status& status) {
  CHECK(status.ok() || absl::StartsWith(status.message(), kName)) << status;
  return status;
}

// The logits of token 0, alone in a cache.
void RunOneToken(const ModelConfig& config, const WeightLayout& layout, WeightSource& source, Device& device) {
  auto cache = KvCache::Create({.layers = static_cast<int>(config.layers.size()), .heads = config.kv_heads,
                                .head_size = config.head_size, .slots = 16, .format = device.kv_format()});
  CHECK(cache.ok()) << cache.status();
  absl::StatusOr<CompiledModel> model = CompiledModel::Create(config, layout, {.row_capacity = 1});
  CHECK(model.ok()) << model.status();
  const auto runner = PassRunner::Create(config, layout, *std::move(model), source, device, {});
  CHECK(runner.ok()) << runner.status();
  const KvCache::SequenceId sequence = (*cache)->NewSequence();
  CHECK((*cache)->Extend(sequence, 1).ok());
  const KvCache::Paths paths = (*cache)->PathsOf(sequence, 1);
  const absl::StatusOr<HiddenRows> ran = (*runner)->Run({{/*token=*/0, paths}}, **cache, /*wanted=*/{0});
  CHECK(ran.ok()) << ran.status();
  std::vector<float> logits(config.vocabulary);
  const absl::Status chosen = (*runner)->Logits(*ran, {0}, TensorView<float>(logits.data(), 1, config.vocabulary));
  CHECK(chosen.ok()) << chosen;
}

absl::Status LoadAndRun(const GgufFile& file, const ModelConfig& config, Device& device) {
  const auto layout = WeightLayout::Plan(file, config, device.weight_encoding());
  RETURN_IF_ERROR(Checked(layout.status()));
  if (layout->TotalBytes() > kLargestModel) return absl::ResourceExhaustedError("larger than this target runs");
  const auto source = LoadResident(file, *layout, OneThread());
  RETURN_IF_ERROR(Checked(source.status()));
  RunOneToken(config, *layout, **source, device);
  return absl::OkStatus();
}

void UseTokenizer(const GgufFile& file) {
  const auto tokenizer = ReadTokenizer(file);
  if (Checked(tokenizer.status()).ok()) {
    for (TokenId token : (*tokenizer)->Encode("A few words, <s>1234</s>.", {.parse_special = true, .add_bos = true})) {
      CHECK(token >= 0 && token < (*tokenizer)->vocabulary_size()) << token;
    }
  }
  const auto chat = ReadChatTemplate(file);
  const std::vector<ChatMessage> messages = {{"user", "Hi"}};
  if (Checked(chat.status()).ok()) Checked(chat->Render({.messages = messages}).status()).IgnoreError();
}

// Whatever the keys of sampling hold, a sampler can follow what is read of them, and the rest is refused in words.
void UseSampling(const GgufFile& file) {
  const RecommendedSampling read = ReadRecommendedSampling(file);
  SamplingOptions options;
  options.temperature = read.temperature.value_or(options.temperature);
  options.top_k = read.top_k.value_or(options.top_k);
  options.top_p = read.top_p.value_or(options.top_p);
  options.min_p = read.min_p.value_or(options.min_p);
  options.repetition_penalty = read.repetition_penalty.value_or(options.repetition_penalty);
  options.penalty_window = read.penalty_window.value_or(options.penalty_window);
  const absl::Status status = Sampler::Create(options).status();
  CHECK(status.ok()) << status;
  for (const RecommendedSampling::Wrong& wrong : read.wrong) CHECK(!Checked(wrong.problem).ok()) << wrong.field;
}

TinyModel Tiny(const char* architecture, std::vector<BlockFormat> formats) {
  return {.architecture = architecture, .width = 32, .feed_forward = 32, .heads = 2, .kv_heads = 1, .head_size = 16, .layers = 1,
          .context = 16, .tied = true, .formats = std::move(formats)};
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  const auto file = GgufFile::Parse(input, kName);
  RETURN_IF_ERROR(Checked(file.status()));
  UseTokenizer(**file);
  UseSampling(**file);
  const auto config = ReadModelConfig(**file);
  RETURN_IF_ERROR(Checked(config.status()));
  HostDevice host(OneThread());
  ReferenceDevice reference(&OneThread());
  const absl::Status fast = LoadAndRun(**file, *config, host), exact = LoadAndRun(**file, *config, reference);
  return fast.ok() ? exact : fast;
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds;
  const auto add = [&](const char* name, const TinyModel& model) { seeds.push_back({name, TinyModelBuilder(model).Build()}); };
  add("qwen2", Tiny("qwen2", {BlockFormat::kQ4_0, BlockFormat::kQ4_1}));
  add("qwen3", Tiny("qwen3", {BlockFormat::kQ5_0, BlockFormat::kF16}));
  TinyModel biased = Tiny("llama", {BlockFormat::kQ4_0});
  biased.biases = AllLayerBiases();
  add("biased", biased);
  biased.architecture = "qwen2", biased.biases = {"output.bias"};
  add("biased_head", biased);
  TinyModel gemma3 = Tiny("gemma3", {BlockFormat::kBF16, BlockFormat::kF32});
  gemma3.window = 8;
  add("gemma3", gemma3);
  GgufBuilder llama = TinyModelBuilder(Tiny("llama", {BlockFormat::kQ8_0}));
  llama.Number("general.sampling.temp", 0.7f).Number("general.sampling.top_k", 20.0f).Number("general.sampling.penalty_last_n",
      int32_t{-1});
  llama.String("llama.rope.scaling.type", "yarn").Number("llama.rope.scaling.factor", 4.0f).Number("llama.rope.freq_base", 1e6f);
  AppendSpoiled("llama", llama.String("tokenizer.chat_template", "<|im_start|>"), &seeds);
  return seeds;
}

}  // namespace tessera
