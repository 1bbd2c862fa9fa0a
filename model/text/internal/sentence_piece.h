// SentencePiece-style encoding (Kudo and Richardson, 2018, in its byte pair form): every character is a symbol, spaces are written
// U+2581, and the pair of neighbours whose joined text has the best score merges first. Text that is no token becomes byte tokens.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Segmenter> segmenter, NewSentencePieceSegmenter(facts, *vocabulary));
//   segmenter->Encode("Hello", /*starts_text=*/true, &tokens);
//
// Errors: InvalidArgument or NotFound with file, key (tokenizer.ggml.scores, tokenizer.ggml.tokens), offset, found and expected.
// The vocabulary must outlive the segmenter. Thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tessera/model/text/internal/segmenter.h"
#include "tessera/model/text/internal/vocabulary.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

// Moves the scores out of `facts`.
absl::StatusOr<std::unique_ptr<Segmenter>> NewSentencePieceSegmenter(TokenizerFacts& facts, const Vocabulary& vocabulary);

}  // namespace tessera
