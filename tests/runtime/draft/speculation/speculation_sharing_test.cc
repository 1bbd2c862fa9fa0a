// Streams that draft from one history while they add to it: none of them writes another text for it. Made for the thread sanitizer.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "tessera/runtime/draft/vocabulary_of.h"
#include "tessera/spec/drafters/history/history_store.h"
#include "tessera/spec/drafters/suffix_drafter.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"
#include "tessera/tests/fakes/written_text.h"

namespace tessera {
namespace {

constexpr int kPrompts = 3;
const SamplingOptions kSampled = {.temperature = 0.8f, .seed = 5};  // No text that goes round in a loop: itself says little of it.
const GenerateOptions kOptions = {.max_tokens = 40, .ignore_end = true};

std::unique_ptr<Engine> NewEngine() { return TinyEngine({.writes_letters = true, .seed = 9}, {.compute = {.threads = 1}}); }

std::unique_ptr<Drafter> NewDrafter(const std::shared_ptr<HistoryStore>& store) {
  return std::make_unique<SuffixDrafter>(SuffixDrafter::Options{.history = store});
}

// What a thread does, with an engine of its own. Prompts are the same in all, so that each finds answers of others, if they are done.
void WriteTexts(int texts, bool clears, const std::shared_ptr<HistoryStore>& store) {
  const std::unique_ptr<Engine> engine = NewEngine();
  for (int i = 0; i < texts; ++i) {
    const std::vector<TokenId> prompt = RandomTokens(20, i % kPrompts);
    PromptWriter writer(*engine, prompt);
    const WrittenText plain = writer.Write(kSampled, kOptions, nullptr);
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(writer.Write(kSampled, kOptions, NewDrafter(store)), plain) << "text " << i;
      store->Add(prompt, plain.tokens);
    }
    EXPECT_TRUE(store->Save().ok());
    if (clears && i == texts / 2) {
      EXPECT_TRUE(store->Clear().ok());
    }
  }
}

TEST(SpeculationSharing, StreamsThatShareAHistoryWriteTheirPlainTexts) {
  const TemporaryFolder folder;
  const std::unique_ptr<Engine> engine = NewEngine();
  constexpr int64_t kBytes = 256 << 10;  // So few that old texts leave, while others are drafted from them.
  const std::shared_ptr<HistoryStore> store =
      Must(HistoryStore::Open(folder.path(), "shared", VocabularyOf(engine->tokenizer()), {.max_bytes = kBytes}));
  const int texts = Fewer(/*cases=*/24, /*sanitized=*/12);
  std::vector<std::thread> streams;
  for (int stream = 0; stream < 3; ++stream) {
    streams.emplace_back([&store, texts, stream] { WriteTexts(texts, /*clears=*/stream == 0, store); });
  }
  for (std::thread& stream : streams) stream.join();
  for (int i = 0; i < kPrompts; ++i) {
    PromptWriter writer(*engine, RandomTokens(20, i));
    writer.Write(kSampled, kOptions, NewDrafter(nullptr));
    const int64_t alone = writer.passes();
    writer.Write(kSampled, kOptions, NewDrafter(store));
    EXPECT_LT(writer.passes(), alone / 2) << "what other streams wrote is not drafted from";
  }
}

}  // namespace
}  // namespace tessera
