// The metadata keys that decoders share, and the keys of models with parts that no decoder here has. Keys in circulation are the keys of
// llama.cpp, of its converters and of Ollama.
#include "tessera/model/files/internal/key_rules.h"

namespace tessera {
namespace {

constexpr char kExperts[] = "experts";
constexpr char kRecurrent[] = "recurrent layers";
constexpr char kLatent[] = "attention through a narrow latent vector";
constexpr char kIndexer[] = "attention to chosen positions only";
constexpr char kScoreScale[] = "scores scaled by position";
constexpr char kLoops[] = "layers that run several times";
constexpr char kEmbedding[] = "an embedding or a class instead of text";
constexpr char kDrafter[] = "layers that draft for another model";
constexpr char kSpeech[] = "sound instead of text";
constexpr char kPerLayer[] = "embeddings of every layer";
constexpr char kStreams[] = "several residual streams";
constexpr char kTraining[] = "it says how the model was trained";

constexpr KeyRule kKeys[] = {
    // Sizes.
    {"context_length", KeyRule::kRead, "the context for which the model was trained"},
    {"embedding_length", KeyRule::kRead, "the width"},
    {"embedding_length_out", KeyRule::kRead, "the width of what the last layer gives: that of the others"},
    {"block_count", KeyRule::kRead, "the number of layers"},
    {"feed_forward_length", KeyRule::kRead, "the width of the feed-forward part"},
    {"vocab_size", KeyRule::kNoEffect, "the rows of token_embd.weight count"},
    {"tensor_data_layout", KeyRule::kText, "rows of queries and keys in another order", "reference"},
    {"hidden_activation", KeyRule::kText, "another activation", "silu|swish"},
    // Attention.
    {"attention.head_count", KeyRule::kRead, "heads of queries"},
    {"attention.head_count_kv", KeyRule::kRead, "heads of keys and values"},
    {"attention.key_length", KeyRule::kRead, "the size of a head"},
    {"attention.value_length", KeyRule::kRead, "the size of a head"},
    {"attention.key_length_swa", KeyRule::kRead, "the size of a head in layers with a window: that of the others"},
    {"attention.value_length_swa", KeyRule::kRead, "the size of a head in layers with a window: that of the others"},
    {"attention.layer_norm_rms_epsilon", KeyRule::kRead, "the epsilon of norms"},
    {"attention.layer_norm_epsilon", KeyRule::kNoEffect, "all norms are RMS norms; converters copy it if a configuration has both"},
    {"attention.group_norm_*", KeyRule::kNone, "norms of groups"},
    {"attention.scale", KeyRule::kRead, "the factor of scores: that which the architecture computes"},
    {"attention.sliding_window", KeyRule::kRead, "the window"},
    {"attention.sliding_window_pattern", KeyRule::kRead, "the layers that have the window"},
    {"attention.causal", KeyRule::kTrue, "attention to later tokens"},
    {"attention.clamp_kqv", KeyRule::kNone, "queries, keys and values cut at a limit"},
    {"attention.max_alibi_bias", KeyRule::kNone, "ALiBi, a bias of scores by distance"},
    {"attention.relative_buckets_count", KeyRule::kNone, "a bias of scores by distance"},
    {"attention.output_scale", KeyRule::kOne, "a factor of attention's output"},
    {"attention.value_scale", KeyRule::kOne, "a factor of values"},
    {"attention.temperature_length", KeyRule::kNone, kScoreScale},
    {"attention.temperature_scale", KeyRule::kNone, kScoreScale},
    {"attention.rope_pattern", KeyRule::kNone, "layers without rotation"},
    {"attention.shared_kv_layers", KeyRule::kNone, "layers that share keys and values"},
    {"attention.q_lora_rank", KeyRule::kNone, kLatent},
    {"attention.kv_lora_rank", KeyRule::kNone, kLatent},
    {"attention.kv_lora_rank_swa", KeyRule::kNone, kLatent},
    {"attention.output_lora_rank", KeyRule::kNone, kLatent},
    {"attention.output_group_count", KeyRule::kNone, kLatent},
    {"attention.key_length_mla*", KeyRule::kNone, kLatent},
    {"attention.value_length_mla*", KeyRule::kNone, kLatent},
    {"attention.compress_*", KeyRule::kNone, kLatent},
    {"attention.indexer.*", KeyRule::kNone, kIndexer},
    {"attention.decay_lora_rank", KeyRule::kNone, kRecurrent},
    {"attention.iclr_lora_rank", KeyRule::kNone, kRecurrent},
    {"attention.value_residual_mix_lora_rank", KeyRule::kNone, kRecurrent},
    {"attention.gate_lora_rank", KeyRule::kNone, kRecurrent},
    {"attention.recurrent_layers", KeyRule::kNone, kRecurrent},
    {"attn_logit_softcapping", KeyRule::kNone, "a soft cap of scores"},
    // Rotary positions.
    {"rope.dimension_count", KeyRule::kRead, "the numbers of a head that turn"},
    {"rope.dimension_count_swa", KeyRule::kRead, "the same in layers with a window: that of the others"},
    {"rope.dimension_sections", KeyRule::kNone, "rotation by three positions, as images have"},
    {"rope.freq_base", KeyRule::kRead, "the base"},
    {"rope.freq_base_swa", KeyRule::kNone, "a base of its own for layers with a window"},
    {"rope.scale_linear", KeyRule::kRead, "the factor, in files of 2023"},
    {"rope.scaling.type", KeyRule::kRead, "none, linear or yarn"},
    {"rope.scaling.factor", KeyRule::kRead, "the factor"},
    {"rope.scaling.attn_factor", KeyRule::kRead, "a factor of all turned numbers"},
    {"rope.scaling.original_context_length", KeyRule::kRead, "the context before scaling, for yarn"},
    {"rope.scaling.yarn_ext_factor", KeyRule::kRead, "for yarn"},
    {"rope.scaling.yarn_beta_fast", KeyRule::kRead, "for yarn"},
    {"rope.scaling.yarn_beta_slow", KeyRule::kRead, "for yarn"},
    {"rope.scaling.ext_factor", KeyRule::kRead, "for yarn, as some converters have it"},
    {"rope.scaling.beta_fast", KeyRule::kRead, "for yarn, as Ollama's converter has it"},
    {"rope.scaling.beta_slow", KeyRule::kRead, "for yarn, as Ollama's converter has it"},
    {"rope.scaling.mscale", KeyRule::kNone, "another factor than YaRN's own"},
    {"rope.scaling.mscale_all_dim", KeyRule::kNone, "another factor than YaRN's own"},
    {"rope.mrope_section", KeyRule::kNone, "rotation by three positions, as images have"},
    {"rope.scaling_beta", KeyRule::kNone, kScoreScale},
    {"rope.scaling.yarn_attn_factor", KeyRule::kOne, "a factor on YaRN's own, or instead of it: writers mean either"},
    {"rope.scaling.yarn_log_multiplier", KeyRule::kNone, "another factor than YaRN's own"},
    {"rope.scaling.alpha", KeyRule::kNone, "a base that grows with the context"},
    {"rope.scaling.finetuned", KeyRule::kNoEffect, kTraining},
    // Residuals, norms and logits.
    {"logit_scale", KeyRule::kOne, "a factor of logits"},
    {"residual_scale", KeyRule::kOne, "a factor of what layers add"},
    {"embedding_scale", KeyRule::kOne, "a factor of embeddings"},
    {"final_logit_softcapping", KeyRule::kNone, "a soft cap of logits"},
    {"use_parallel_residual", KeyRule::kNoEffect, "only gptneox has them side by side; a converter of early 2024 wrote it, true, for all"},
    {"swin_norm", KeyRule::kNone, "norms behind each part instead of before it"},
    {"rescale_every_n_layers", KeyRule::kNone, "a smaller residual every few layers"},
    {"activation.*", KeyRule::kNone, "another activation"},
    {"activation_sparsity_scale", KeyRule::kNone, "an activation that leaves only the largest"},
    {"swiglu_clamp_*", KeyRule::kNone, "an activation cut at a limit"},
    // Experts.
    {"expert_*", KeyRule::kNone, kExperts},
    {"experts_per_group", KeyRule::kNone, kExperts},
    {"leading_dense_block_count", KeyRule::kNone, kExperts},
    {"moe_every_n_layers", KeyRule::kNone, kExperts},
    {"moe_latent_size", KeyRule::kNone, kExperts},
    {"interleave_moe_layer_step", KeyRule::kNone, kExperts},
    {"router_logit_softcapping", KeyRule::kNone, kExperts},
    {"hash_layer_count", KeyRule::kNone, kExperts},
    // Other layers.
    {"full_attention_interval", KeyRule::kNone, kRecurrent},
    {"ssm.*", KeyRule::kNone, kRecurrent},
    {"kda.*", KeyRule::kNone, kRecurrent},
    {"wkv.*", KeyRule::kNone, kRecurrent},
    {"time_mix_extra_dim", KeyRule::kNone, kRecurrent},
    {"time_decay_extra_dim", KeyRule::kNone, kRecurrent},
    {"token_shift_count", KeyRule::kNone, kRecurrent},
    {"shortconv.*", KeyRule::kNone, "convolutions of neighbouring tokens"},
    {"num_loops", KeyRule::kNone, kLoops},
    {"skip_loop_final_norm", KeyRule::kNone, kLoops},
    {"hrm.*", KeyRule::kNone, kLoops},
    {"hyper_connection.*", KeyRule::kNone, kStreams},
    {"altup.*", KeyRule::kNone, kStreams},
    {"attn_res.*", KeyRule::kNone, kStreams},
    {"laurel.*", KeyRule::kNone, kStreams},
    {"embedding_length_per_layer_input", KeyRule::kNone, kPerLayer},
    {"ple.*", KeyRule::kNone, kPerLayer},
    {"nextn_predict_layers", KeyRule::kNone, "layers at the end that draft tokens"},
    {"adapters.*", KeyRule::kNone, "adapters inside the file"},
    {"n_deepstack_layers", KeyRule::kNone, "images at several layers"},
    {"deepstack_mapping", KeyRule::kNone, "images at several layers"},
    // Models that write no text.
    {"pooling_type", KeyRule::kNone, kEmbedding},
    {"classifier.*", KeyRule::kNone, kEmbedding},
    {"dense_*", KeyRule::kNone, kEmbedding},
    {"decoder_start_token_id", KeyRule::kNone, "an encoder before the decoder"},
    {"decoder_block_count", KeyRule::kNone, "an encoder before the decoder"},
    {"features_length", KeyRule::kNone, kSpeech},
    {"posnet.*", KeyRule::kNone, kSpeech},
    {"convnext.*", KeyRule::kNone, kSpeech},
    {"target_layers", KeyRule::kNone, kDrafter},
    {"target_hidden_size", KeyRule::kNone, kDrafter},
    {"norm_before_residual", KeyRule::kNone, kDrafter},
    {"norm_before_fc", KeyRule::kNone, kDrafter},
    {"block_size", KeyRule::kNone, kDrafter},
    {"conv_kernel_size", KeyRule::kNone, kDrafter},
    {"conv_group_size", KeyRule::kNone, kDrafter},
    {"selector_rank", KeyRule::kNone, kDrafter},
    {"selector_top_k", KeyRule::kNone, kDrafter},
    {"sample_from_anchor", KeyRule::kNone, kDrafter},
    {"has_confidence_head", KeyRule::kNone, kDrafter},
};

}  // namespace

KeyRules DecoderKeys() { return kKeys; }

}  // namespace tessera
