// How each metadata key of a file is judged: what is read, what changes no result, and what must have the one value that is computed.
//
//   constexpr KeyRule kOwn[] = {{"final_logit_softcapping", KeyRule::kNone, "a soft cap of logits"}};
//   RETURN_IF_ERROR(JudgeKeys(file, "foo.", {kOwn, DecoderKeys()}));
//
// The rules are data: tables beside the architectures, and of the tokenizer. A test walks them. A key that no table has is refused by its
// name: it may change what the model computes. Errors are InvalidArgument with file, key, offset, the value found and the value expected.
// Thread-safe (constant data and pure functions).
#pragma once

#include <initializer_list>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

struct KeyRule {
  enum Judgement {
    kRead,      // The code that reads it checks its value.
    kNoEffect,  // No value changes what is computed here.
    kNone,      // 0, false, or an empty text or list (a list of zeros is one): the model has nothing of it.
    kOne,       // A factor: 1.
    kTrue,
    kText,      // One of `texts`.
  };
  const char* key;         // Without the prefix. "ssm.*": every key that begins with "ssm.".
  Judgement judgement;
  const char* why;         // kRead: what it is. kNoEffect: why it has none. Else: what a model with another value has.
  const char* texts = "";  // For kText: "silu|swish".
};

using KeyRules = absl::Span<const KeyRule>;

// Judges the file's keys that begin with the prefix. The first table that has a key judges it.
absl::Status JudgeKeys(const GgufFile& file, absl::string_view prefix, std::initializer_list<KeyRules> tables);

// The first rule for a key; null if there is none.
const KeyRule* FindKeyRule(absl::string_view key, std::initializer_list<KeyRules> tables);

// Keys of any architecture ("foo.*"): what decoders here share, and what other models have that are not supported here.
KeyRules DecoderKeys();
// "tokenizer.*".
KeyRules TokenizerKeys();

// "general.*", which describes the file: InvalidArgument if it is no model ("general.type", "adapter.*"), or if its block formats are of
// another version.
absl::Status JudgeGeneralKeys(const GgufFile& file);
// Only whether it is a model.
absl::Status JudgeKind(const GgufFile& file);

}  // namespace tessera
