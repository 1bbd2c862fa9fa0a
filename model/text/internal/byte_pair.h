// Byte-level byte pair encoding, introduced by GPT-2 (Radford et al., 2019; merges after Sennrich et al., 2016). Text is cut into words,
// and each byte of a word is a symbol. Neighbours merge in the order in which training learned the merges.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Segmenter> segmenter, NewBytePairSegmenter(facts, *vocabulary));
//   segmenter->Encode("Hello", /*starts_text=*/true, &tokens);
//
// Errors: InvalidArgument or NotFound with file, key (tokenizer.ggml.merges, tokenizer.ggml.pre), offset, found and expected.
// The vocabulary must outlive the segmenter. Thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tessera/model/text/internal/segmenter.h"
#include "tessera/model/text/internal/vocabulary.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<Segmenter>> NewBytePairSegmenter(TokenizerFacts& facts, const Vocabulary& vocabulary);

}  // namespace tessera
