// Judges each metadata key of a file: some keys are read, some change no result, and some must have the one value that is computed here.
//
//   constexpr KeyRule kOwn[] = {{"final_logit_softcapping", KeyRule::kNone, "a soft cap of logits"}};
//   RETURN_IF_ERROR(JudgeKeys(file, "foo.", {kOwn, DecoderKeys()}));
//
// The rules are data: tables next to the architectures, and a table of the tokenizer. A test walks the tables. A key without a rule is
// refused by name: the key may change the model's results. Errors: InvalidArgument with file, key, offset, the value found and the value
// expected. Thread-safe (constant data and pure functions).
#pragma once

#include <initializer_list>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

struct KeyRule {
  enum Judgement {
    kRead,      // The code that reads the key checks the value.
    kNoEffect,  // No value changes the results computed here.
    kNone,      // 0, false, or an empty text or list (including a list of zeros): the model does not have the feature.
    kOne,       // A factor: 1.
    kTrue,
    kText,      // One of `texts`.
  };
  const char* key;         // Without the prefix. "ssm.*": every key that begins with "ssm.".
  Judgement judgement;
  // kRead: the meaning of the key. kNoEffect: the reason why the key has no effect. Else: the feature of a model with another value.
  const char* why;
  const char* texts = "";  // For kText: "silu|swish".
};

using KeyRules = absl::Span<const KeyRule>;

// Judges the file's keys that begin with the prefix. The first table that has a key judges it.
absl::Status JudgeKeys(const GgufFile& file, absl::string_view prefix, std::initializer_list<KeyRules> tables);

// Returns the first rule for a key; null if there is none.
const KeyRule* FindKeyRule(absl::string_view key, std::initializer_list<KeyRules> tables);

// Returns keys of any architecture ("foo.*"): keys that the decoders here share, and keys of other models for unsupported features.
KeyRules DecoderKeys();
// Returns the rules of "tokenizer.*".
KeyRules TokenizerKeys();

// Judges "general.*", which describes the file. Returns InvalidArgument if the file is no model ("general.type", "adapter.*"), or if the
// file's block formats have another version.
absl::Status JudgeGeneralKeys(const GgufFile& file);
// Judges only whether the file is a model.
absl::Status JudgeKind(const GgufFile& file);

}  // namespace tessera
