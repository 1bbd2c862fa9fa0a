// What attention costs llama.cpp: passes of one row and of a prompt's after many tokens and after none, in turns, as tessera_bench
// attention times ours.
//
//   attention MODEL.gguf THREADS TOKEN_PAIRS PROMPT_PAIRS PROMPT_TOKENS DEPTH...
//
// Prints one JSON object: {"attention": [{"rows": 1, "depth": 128, "seconds": ..., "attention_seconds": ...}, ...]}, medians over the
// pairs. Two contexts of one model, each as llama-bench makes it; depths ascend. scripts/measure/lib/peer.sh builds it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "llama.h"

namespace {

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "attention: %s\n", what);
  std::exit(1);
}

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

class Sequence {
 public:
  Sequence(llama_model* model, int threads, int context) : vocabulary_(llama_vocab_n_tokens(llama_model_get_vocab(model))) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = context;
    params.swa_full = false;
    context_ = llama_init_from_model(model, params);
    if (context_ == nullptr) Fail("found no context, expected one");
    llama_set_n_threads(context_, threads, threads);
  }
  ~Sequence() { llama_free(context_); }

  void FillTo(int depth) {
    while (length_ < depth) {
      Decode(std::min(depth - length_, static_cast<int>(llama_n_batch(context_))));
    }
  }

  // Seconds of `rows` tokens more, which are then taken back.
  double TimePass(int rows) {
    const double begin = Now();
    Decode(rows);
    const double seconds = Now() - begin;
    length_ -= rows;
    if (!llama_memory_seq_rm(llama_get_memory(context_), 0, length_, -1)) Fail("found a token that stays, expected it to go");
    return seconds;
  }

 private:
  void Decode(int count) {
    std::vector<llama_token> tokens(count);
    for (llama_token& token : tokens) token = static_cast<llama_token>(random_() % vocabulary_);
    if (llama_decode(context_, llama_batch_get_one(tokens.data(), count)) != 0)
      Fail("found that llama_decode failed, expected it to compute the tokens");
    llama_synchronize(context_);
    length_ += count;
  }

  std::mt19937 random_{1};
  int vocabulary_;
  llama_context* context_;
  int length_ = 0;
};

constexpr char kUsage[] = "usage: attention MODEL THREADS TOKEN_PAIRS PROMPT_PAIRS PROMPT_TOKENS DEPTH..., all but the first from 1";

int Number(const char* text) {
  const int number = std::atoi(text);
  if (number < 1) Fail(kUsage);
  return number;
}

void Measure(Sequence& empty, Sequence& full, int rows, int depth, int pairs, const char* separator) {
  full.FillTo(depth);
  std::vector<double> seconds, longer;
  for (int i = -1; i < pairs; ++i) {  // The first warms caches and is not counted.
    const double none = empty.TimePass(rows), all = full.TimePass(rows);
    if (i < 0) continue;
    seconds.push_back(all);
    longer.push_back(all - none);
  }
  std::printf("%s{\"rows\": %d, \"depth\": %d, \"seconds\": %.9f, \"attention_seconds\": %.9f}", separator, rows, depth,
              Median(seconds), Median(longer));
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kFirstDepth = 6;
  if (argc <= kFirstDepth) Fail(kUsage);
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) Fail("found no model that loads, expected one");
  const int threads = Number(argv[2]), token_pairs = Number(argv[3]), prompt_pairs = Number(argv[4]), prompt = Number(argv[5]);
  {
    Sequence empty(model, threads, prompt), full(model, threads, Number(argv[argc - 1]) + prompt);
    std::printf("{\"attention\": [");
    for (int i = kFirstDepth; i < argc; ++i) {
      Measure(empty, full, 1, Number(argv[i]), token_pairs, i == kFirstDepth ? "" : ", ");
      Measure(empty, full, prompt, Number(argv[i]), prompt_pairs, ", ");
    }
    std::printf("]}\n");
  }
  llama_model_free(model);
}
