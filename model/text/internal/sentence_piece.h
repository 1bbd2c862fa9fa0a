// SentencePiece-style encoding (Kudo and Richardson, 2018, in the byte pair form). Every character is a symbol, and spaces are written
// U+2581. The pair of neighbours whose joined text has the best score merges first. Text without a token becomes byte tokens.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Segmenter> segmenter, NewSentencePieceSegmenter(facts, *vocabulary));
//   segmenter->Encode("Hello", /*starts_text=*/true, &tokens);
//
// Errors: InvalidArgument or NotFound with file, key (tokenizer.ggml.scores, tokenizer.ggml.tokens), offset, found and expected. The
// vocabulary must outlive the segmenter. Threads: thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "tessera/model/text/internal/segmenter.h"
#include "tessera/model/text/internal/vocabulary.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

// Makes a segmenter. Moves the scores out of `facts`.
absl::StatusOr<std::unique_ptr<Segmenter>> NewSentencePieceSegmenter(TokenizerFacts& facts, const Vocabulary& vocabulary);

}  // namespace tessera
