// A tiny model with the vocabulary of space_prefix_vocabulary.h: a stop text may begin within a token.
//
//   SpacePrefixModelBuilder().WriteTo(path);             // it writes "gGkKaA...": a token is a small letter and the same large one
#pragma once

#include <string>

#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/gguf_metadata.h"
#include "tessera/tests/fakes/small_vocabularies.h"
#include "tessera/tests/fakes/space_prefix_vocabulary.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {

inline GgufBuilder SpacePrefixModelBuilder() {
  GgufBuilder builder = TinyModelBuilder({.writes_letters = true});
  const TokenizerMetadata before = SmallBytePair();
  for (const auto& [key, value] : before.values()) builder.Remove(key);
  AddTo(builder, SpacePrefixVocabulary());
  return builder;
}

}  // namespace tessera
