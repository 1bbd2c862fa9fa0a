// Families of models, by general.architecture, and the missing parts of each family that does not run: the error for a file of the family
// names these parts. docs/models.md shows the same table. A test compares the two, and opens a header of each family.
#include "tessera/model/files/internal/model_families.h"

namespace tessera {
namespace {

constexpr ModelFamily kFamilies[] = {
    {"Llama 1 to 3.3", "llama"},
    {"Mistral 7B, Nemo and Small 2 and 3", "llama"},
    {"SmolLM, SmolLM2 and TinyLlama", "llama"},
    {"Yi 1 and 1.5", "llama"},
    {"Mixtral", "llama", "expert_count", "experts"},
    {"Qwen 1.5, 2 and 2.5, QwQ", "qwen2"},
    {"Qwen 3", "qwen3"},
    {"Qwen 3 Embedding", "qwen3", "pooling_type", "an embedding or a class instead of text"},
    {"Gemma 3", "gemma3"},
    {"Llama 4", "llama4", "", "experts; layers without rotation; attention within chunks"},
    {"Mistral Small 3.1 and 3.2, Ministral 3, Devstral 2", "mistral3", "",
     "layers like llama's under another name: no test compares them with another engine yet; in Ministral 3 and Devstral 2 "
     "scores scaled by position"},
    {"Nemotron of Llama: Nano, Super, Ultra", "deci", "", "layers of different sizes"},
    {"Llama 3.2 Vision", "mllama", "", "attention to images"},
    {"Qwen", "qwen", "", "fused queries, keys and values"},
    {"Qwen 1.5 and 2 MoE", "qwen2moe", "", "experts"},
    {"Qwen 2 and 2.5 VL", "qwen2vl", "", "rotation by three positions, as images have"},
    {"Qwen 3 MoE", "qwen3moe", "", "experts"},
    {"Qwen 3 VL", "qwen3vl", "", "rotation by three positions, as images have; images at several layers"},
    {"Qwen 3 VL MoE", "qwen3vlmoe", "", "experts; rotation by three positions, as images have; images at several layers"},
    {"Qwen 3 Next", "qwen3next", "", "recurrent layers; experts"},
    {"Qwen 3.5", "qwen35", "", "recurrent layers; rotation by three positions, as images have"},
    {"Qwen 3.5 MoE", "qwen35moe", "", "recurrent layers; experts; rotation by three positions, as images have"},
    {"Gemma", "gemma", "", "layers like gemma3's without some norms: no test compares them with another engine yet"},
    {"Gemma 2", "gemma2", "", "soft caps of scores"},
    {"Gemma 3n", "gemma3n", "", "embeddings of every layer; several residual streams"},
    {"Gemma 4", "gemma4", "", "heads of two sizes; norms of values; layers that share keys and values"},
    {"EmbeddingGemma", "gemma-embedding", "", "attention to later tokens: it gives embeddings, no text"},
    {"Phi 1, 1.5 and 2", "phi2", "", "layer norms; attention beside the feed-forward part; feed-forward parts without gates"},
    {"Phi 3, 3.5 and 4", "phi3", "", "fused queries, keys and values; gate and up in one tensor; rotation factors for long texts"},
    {"Phi 3.5 MoE", "phimoe", "", "experts; layer norms"},
    {"DeepSeek MoE", "deepseek", "", "experts"},
    {"DeepSeek 2, 3 and R1, Kimi K2", "deepseek2", "", "experts; attention through a narrow latent vector"},
    {"GPT-2", "gpt2", "", "layer norms; learnt positions; feed-forward parts without gates; fused queries, keys and values"},
    {"GPT-J", "gptj", "", "layer norms; attention beside the feed-forward part; feed-forward parts without gates"},
    {"GPT-NeoX and Pythia", "gptneox", "",
     "layer norms; attention beside the feed-forward part; feed-forward parts without gates; fused queries, keys and values"},
    {"gpt-oss", "gpt-oss", "", "experts; scores that attend to nothing (sinks)"},
    {"Falcon", "falcon", "",
     "layer norms; attention beside the feed-forward part; feed-forward parts without gates; fused queries, keys and values"},
    {"Falcon H1", "falcon-h1", "", "recurrent layers"},
    {"MPT", "mpt", "",
     "layer norms; ALiBi, a bias of scores by distance; feed-forward parts without gates; fused queries, keys and values"},
    {"BLOOM", "bloom", "",
     "layer norms; ALiBi, a bias of scores by distance; feed-forward parts without gates; fused queries, keys and values"},
    {"StableLM", "stablelm", "", "layer norms"},
    {"StarCoder", "starcoder", "", "layer norms; learnt positions; feed-forward parts without gates; fused queries, keys and values"},
    {"StarCoder 2", "starcoder2", "", "layer norms; feed-forward parts without gates"},
    {"Command R, Aya 23 and Expanse", "command-r", "", "layer norms; attention beside the feed-forward part; a factor of logits"},
    {"Command R7B and A, Aya Vision", "cohere2", "",
     "layer norms; attention beside the feed-forward part; layers without rotation; a factor of logits"},
    {"Granite 3 dense", "granite", "", "factors of embeddings, residuals and logits"},
    {"Granite 3 MoE", "granitemoe", "", "experts; factors of embeddings, residuals and logits"},
    {"Granite 4", "granitehybrid", "", "recurrent layers; factors of embeddings, residuals and logits"},
    {"OLMo", "olmo", "", "layer norms without weights"},
    {"OLMo 2 and 3", "olmo2", "", "norms behind each part instead of before it; norms of whole queries and keys"},
    {"OLMoE", "olmoe", "", "experts; norms of whole queries and keys"},
    {"EXAONE 3 and 3.5", "exaone", "", "layers like llama's under another name: no test compares them with another engine yet"},
    {"EXAONE 4", "exaone4", "", "norms behind each part instead of before it; layers without rotation"},
    {"GLM 4, ChatGLM 2 and 3", "chatglm", "", "fused queries, keys and values; gate and up in one tensor"},
    {"GLM 4 0414", "glm4", "", "gate and up in one tensor; norms behind each part, too"},
    {"GLM 4.5 and 4.6", "glm4moe", "", "experts"},
    {"MiniCPM", "minicpm", "", "factors of embeddings, residuals and logits"},
    {"MiniCPM 3", "minicpm3", "", "attention through a narrow latent vector; factors of embeddings, residuals and logits"},
    {"InternLM 2", "internlm2", "", "layers like llama's under another name: no test compares them with another engine yet"},
    {"Baichuan", "baichuan", "",
     "layers like llama's under another name: no test compares them with another engine yet; in the models of 13 billion parameters ALiBi, "
     "a bias of scores by distance"},
    {"XVERSE", "xverse", "", "layers like llama's under another name: no test compares them with another engine yet"},
    {"Orion", "orion", "", "layer norms"},
    {"SmolLM 3", "smollm3", "", "layers without rotation"},
    {"ERNIE 4.5", "ernie4_5", "", "layers like llama's under another name: no test compares them with another engine yet"},
    {"ERNIE 4.5 MoE", "ernie4_5-moe", "", "experts"},
    {"Seed OSS", "seed_oss", "", "layers like qwen2's under other names: no test compares them with another engine yet"},
    {"Hunyuan dense", "hunyuan-dense", "", "norms of queries and keys after rotation"},
    {"Hunyuan MoE", "hunyuan-moe", "", "experts; norms of queries and keys after rotation"},
    {"MiniMax M2", "minimax-m2", "", "experts; norms of whole queries and keys"},
    {"Nemotron 3 and 4", "nemotron", "", "layer norms; feed-forward parts without gates; another activation"},
    {"Nemotron H and Nano 2", "nemotron_h", "", "recurrent layers"},
    {"LFM2", "lfm2", "", "convolutions of neighbouring tokens"},
    {"LFM2 MoE", "lfm2moe", "", "experts; convolutions of neighbouring tokens"},
    {"Jamba", "jamba", "", "recurrent layers; experts"},
    {"Mamba", "mamba", "", "recurrent layers"},
    {"Mamba 2", "mamba2", "", "recurrent layers"},
    {"RWKV 6", "rwkv6", "", "recurrent layers"},
    {"RWKV 7", "rwkv7", "", "recurrent layers"},
    {"DBRX", "dbrx", "", "experts; layer norms; fused queries, keys and values"},
    {"Grok 1", "grok", "", "experts; soft caps of scores"},
    {"BitNet", "bitnet", "", "norms inside attention and feed-forward part"},
    {"Apertus", "apertus", "", "another activation; feed-forward parts without gates"},
    {"Dream", "dream", "", "attention to later tokens: it writes by diffusion"},
    {"LLaDA", "llada", "", "attention to later tokens: it writes by diffusion"},
    {"T5 and Flan-T5", "t5", "", "an encoder before the decoder; a bias of scores by distance"},
    {"T5 encoder", "t5encoder", "", "attention to later tokens: it gives embeddings, no text"},
    {"BERT, BGE and E5", "bert", "", "attention to later tokens: it gives embeddings, no text"},
    {"ModernBERT", "modern-bert", "", "attention to later tokens: it gives embeddings, no text"},
    {"Nomic Embed", "nomic-bert", "", "attention to later tokens: it gives embeddings, no text"},
    {"Jina Embeddings 2", "jina-bert-v2", "", "attention to later tokens: it gives embeddings, no text"},
    {"WavTokenizer", "wavtokenizer-dec", "", "sound instead of text"},
    {"Image and audio towers (mmproj)", "clip", "", "images and sound: the file is a tower, and the model is in another file"},
};

}  // namespace

absl::Span<const ModelFamily> ModelFamilies() { return kFamilies; }

const ModelFamily* FindMissingFamily(absl::string_view architecture) {
  for (const ModelFamily& family : kFamilies) {
    if (architecture == family.architecture && family.missing[0] != '\0') return &family;
  }
  return nullptr;
}

}  // namespace tessera
