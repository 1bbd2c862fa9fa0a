#include "tessera/runtime/draft/vocabulary_of.h"

#include <gtest/gtest.h>

#include "tessera/base/status_macros.h"
#include "tessera/spec/drafters/history/history_store.h"
#include "tessera/tests/fakes/small_vocabularies.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

TEST(VocabularyOf, HeaderExample) {
  const TemporaryFolder temporary;
  const std::string& folder = temporary.path();
  const auto tokenizer = OpenTokenizer(SmallBytePair());
  const auto example = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::shared_ptr<HistoryStore> store, HistoryStore::Open(folder, "mail", VocabularyOf(*tokenizer), {}));
    EXPECT_EQ(store->tokens(), 0);
    return absl::OkStatus();
  };
  EXPECT_TRUE(example().ok());
}

TEST(VocabularyOf, AVocabularyIsKnownByItsPieces) {
  const auto one = OpenTokenizer(SmallBytePair()), same = OpenTokenizer(SmallBytePair()), other = OpenTokenizer(SmallSentencePiece());
  EXPECT_EQ(VocabularyOf(*one), VocabularyOf(*same));
  EXPECT_NE(VocabularyOf(*one).sum, VocabularyOf(*other).sum);
}

}  // namespace
}  // namespace tessera
