// Tensors that show a part which no decoder here has: the error then names the part, not only a tensor.
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "tessera/model/files/internal/architecture.h"

namespace tessera {
namespace {

struct OtherPart { const char* tensor; const char* what; };

constexpr OtherPart kOfLayers[] = {
    {"attn_qkv.weight", "fused queries, keys and values"},
    {"attn_q_a.weight", "attention through a narrow latent vector"},
    {"attn_kv_a_mqa.weight", "attention through a narrow latent vector"},
    {"attn_sinks.weight", "scores that attend to nothing (sinks)"},
    {"attn_gate.weight", "gates of attention"},
    {"attn_norm_2.weight", "attention beside the feed-forward part"},
    {"attn_norm.bias", "layer norms"},
    {"ffn_norm.bias", "layer norms"},
    {"attn_sub_norm.weight", "norms inside attention and feed-forward part"},
    {"ffn_sub_norm.weight", "norms inside attention and feed-forward part"},
    {"cross_attn_q_proj.weight", "attention to images"},
    {"ffn_gate_inp.weight", "experts"},
    {"ffn_gate_exps.weight", "experts"},
    {"ffn_up_exps.weight", "experts"},
    {"ffn_gate_up_exps.weight", "experts"},
    {"ffn_gate.0.weight", "experts"},
    {"ssm_in.weight", "recurrent layers"},
    {"ssm_conv1d.weight", "recurrent layers"},
    {"time_mix_w1.weight", "recurrent layers"},
    {"shortconv.conv.weight", "convolutions of neighbouring tokens"},
    {"inp_gate.weight", "embeddings of every layer"},
};

constexpr OtherPart kOfModels[] = {
    {"position_embd.weight", "learnt positions"},
    {"token_types.weight", "types of segments, as encoders have"},
    {"output_norm.bias", "layer norms"},
    {"token_embd_norm.weight", "norms of embeddings"},
    {"per_layer_token_embd.weight", "embeddings of every layer"},
    {"enc.output_norm.weight", "an encoder before the decoder"},
};

// Returns "ffn_up.weight" for "blk.3.ffn_up.weight"; the name itself for a tensor of no layer.
absl::string_view WithoutLayer(absl::string_view name, bool& of_layer) {
  absl::string_view rest = name;
  of_layer = absl::ConsumePrefix(&rest, "blk.");
  const size_t dot = of_layer ? rest.find('.') : absl::string_view::npos;
  uint32_t layer = 0;
  of_layer = dot != absl::string_view::npos && absl::SimpleAtoi(rest.substr(0, dot), &layer);
  return of_layer ? rest.substr(dot + 1) : name;
}

}  // namespace

absl::string_view PartShownBy(absl::string_view tensor) {
  if (absl::EndsWith(tensor, ".input_scale")) return "a factor of a matrix's inputs beside its blocks";
  if (absl::EndsWith(tensor, ".scale")) return "a factor of a whole matrix beside its blocks, as NVFP4 and BitNet files have";
  bool of_layer = false;
  const absl::string_view label = WithoutLayer(tensor, of_layer);
  for (const OtherPart& part : of_layer ? absl::MakeConstSpan(kOfLayers) : absl::MakeConstSpan(kOfModels)) {
    if (label == part.tensor) return part.what;
  }
  return "";
}

}  // namespace tessera
