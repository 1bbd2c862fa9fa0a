// The keys of tokenizers ("tokenizer.*"): the keys that are read (read_tokenizer.cc), and the meaning of the others for text here.
#include "tessera/model/files/internal/key_rules.h"

namespace tessera {
namespace {

constexpr char kNotWritten[] = "no program writes this token into a text by itself";
constexpr char kFillIn[] = "marks around what is filled in: a text ends with each";
constexpr char kOtherForm[] = "the same vocabulary in another form";
constexpr char kBert[] = "only encoders with types of segments have a table for it";

constexpr KeyRule kKeys[] = {
    {"ggml.model", KeyRule::kRead, "the kind of tokenizer"},
    {"ggml.pre", KeyRule::kRead, "how words are cut"},
    {"ggml.tokens", KeyRule::kRead, "the vocabulary"},
    {"ggml.token_type", KeyRule::kRead, "types of tokens"},
    {"ggml.scores", KeyRule::kRead, "the order of merges, where tokens have scores"},
    {"ggml.merges", KeyRule::kRead, "merges, of byte-level vocabularies"},
    {"ggml.bos_token_id", KeyRule::kRead, "the token before a text"},
    {"ggml.eos_token_id", KeyRule::kRead, "a token that ends a text"},
    {"ggml.eot_token_id", KeyRule::kRead, "a token that ends a text"},
    {"ggml.eom_token_id", KeyRule::kRead, "a token that ends a text"},
    {"ggml.eos_token_ids", KeyRule::kRead, "tokens that end a text, as Ollama's converter lists them"},
    {"ggml.bos_token_ids", KeyRule::kNoEffect, "the first of them stands in bos_token_id, too"},
    {"ggml.unknown_token_ids", KeyRule::kNoEffect, "the first of them stands in unknown_token_id, too"},
    {"ggml.seperator_token_ids", KeyRule::kNoEffect, kNotWritten},
    {"ggml.padding_token_ids", KeyRule::kNoEffect, kNotWritten},
    {"ggml.cls_token_ids", KeyRule::kNoEffect, kNotWritten},
    {"ggml.mask_token_ids", KeyRule::kNoEffect, kNotWritten},
    {"ggml.unknown_token_id", KeyRule::kRead, "the token of what has no other"},
    {"ggml.add_bos_token", KeyRule::kRead, "whether texts begin with BOS"},
    {"ggml.add_space_prefix", KeyRule::kRead, "whether texts begin with a space"},
    {"chat_template", KeyRule::kRead, "the form of dialogues"},
    {"chat_template.default", KeyRule::kRead, "the form of dialogues, where no other is"},
    {"chat_template.tool_use", KeyRule::kRead, "the form of dialogues with tools"},
    {"chat_template.*", KeyRule::kNoEffect, "forms for other purposes, which programs name where there is no other"},
    {"chat_templates", KeyRule::kNoEffect, "the names of forms for other purposes"},
    {"ggml.seperator_token_id", KeyRule::kNoEffect, kNotWritten},
    {"ggml.separator_token_id", KeyRule::kNoEffect, kNotWritten},
    {"ggml.padding_token_id", KeyRule::kNoEffect, kNotWritten},
    {"ggml.cls_token_id", KeyRule::kNoEffect, kNotWritten},
    {"ggml.mask_token_id", KeyRule::kNoEffect, kNotWritten},
    {"ggml.prefix_token_id", KeyRule::kRead, kFillIn},
    {"ggml.suffix_token_id", KeyRule::kRead, kFillIn},
    {"ggml.middle_token_id", KeyRule::kRead, kFillIn},
    {"ggml.fim_*", KeyRule::kRead, kFillIn},
    {"ggml.token_type_count", KeyRule::kNoEffect, kBert},
    {"ggml.added_tokens", KeyRule::kNoEffect, "tokenizer.ggml.tokens has them, too"},
    {"ggml.add_eos_token", KeyRule::kNone, "a token that ends the text behind every prompt, as for embeddings"},
    {"ggml.add_sep_token", KeyRule::kNone, "a token between the parts of a prompt"},
    {"ggml.add_seperator_token", KeyRule::kNone, "a token between the parts of a prompt"},
    {"ggml.add_unknown_token", KeyRule::kNone, "a further token around every prompt"},
    {"ggml.add_padding_token", KeyRule::kNone, "a further token around every prompt"},
    {"ggml.add_cls_token", KeyRule::kNone, "a further token around every prompt"},
    {"ggml.add_mask_token", KeyRule::kNone, "a further token around every prompt"},
    {"ggml.remove_extra_whitespaces", KeyRule::kNone, "texts whose runs of spaces become one"},
    {"ggml.precompiled_charsmap", KeyRule::kNone, "texts in which characters are replaced by a table"},
    {"ggml.normalizer.*", KeyRule::kNone, "texts in lower case, or without accents"},
    {"ggml.suppress_tokens", KeyRule::kNone, "tokens that are never chosen"},
    {"huggingface.json", KeyRule::kNoEffect, kOtherForm},
    {"rwkv.world", KeyRule::kNoEffect, kOtherForm},
};

}  // namespace

KeyRules TokenizerKeys() { return kKeys; }

}  // namespace tessera
