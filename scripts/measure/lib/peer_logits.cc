// The logits after the last of some tokens, as llama.cpp computes them: in one pass, on one thread, keys and values in FP32, without its
// flash attention.
//
//   logits MODEL.gguf TOKEN...
//
// Prints one JSON object: {"logits": [...]}, one for each token of the vocabulary. A model that llama.cpp does not load ends it with exit
// code 1 and the peer's own words, one that it cannot compute with its abort. scripts/measure/lib/peer.sh builds it.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "llama.h"

namespace {

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "logits: %s\n", what);
  std::exit(1);
}

llama_context* ContextOf(llama_model* model, int tokens) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = tokens;
  params.n_threads = params.n_threads_batch = 1;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = params.type_v = GGML_TYPE_F32;
  llama_context* const context = llama_init_from_model(model, params);
  if (context == nullptr) Fail("found no context, expected one");
  return context;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kFirstToken = 2;
  if (argc <= kFirstToken) Fail("usage: logits MODEL TOKEN...");
  const auto log = [](ggml_log_level level, const char* text, void*) {
    if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
  };
  llama_log_set(log, nullptr);
  ggml_backend_load_all();
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = 0;
  llama_model* const model = llama_model_load_from_file(argv[1], params);
  if (model == nullptr) std::exit(1);  // The peer has said why.
  std::vector<llama_token> tokens;
  for (int i = kFirstToken; i < argc; ++i) tokens.push_back(std::atoi(argv[i]));
  llama_context* const context = ContextOf(model, static_cast<int>(tokens.size()));
  if (llama_decode(context, llama_batch_get_one(tokens.data(), static_cast<int>(tokens.size()))) != 0) {
    Fail("found that llama_decode failed, expected it to compute the tokens");
  }
  const float* const logits = llama_get_logits_ith(context, -1);
  if (logits == nullptr) Fail("found no logits, expected those of the last token");
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::printf("{\"logits\": [");
  for (int i = 0; i < vocabulary; ++i) std::printf("%s%.9g", i == 0 ? "" : ", ", logits[i]);
  std::printf("]}\n");
  llama_free(context);
  llama_model_free(model);
}
