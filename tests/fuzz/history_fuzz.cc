// The reader of history files: what it accepts is written back to the byte, and drafts; whatever else is refused by name. A store
// that finds such a file keeps what is added to it, or leaves another's file as it was; cleared, it leaves nothing.
//
// The checksum would reveal nearly every change at once. So the first byte of an input says whether the rest is used as it is, or with the
// checksum made right; and whether an answer is added to the store.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/spec/drafters/history/history_store.h"
#include "tessera/spec/drafters/suffix_drafter.h"
#include "tessera/tests/fakes/bad_histories.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr int kSealed = 1, kAddedTo = 2;   // Bits of the first byte.
constexpr size_t kLongestRefused = 53;     // That a store is made of: more bytes say no more, and it takes fifty times a refusal.

using Store = std::shared_ptr<HistoryStore>;

Store OpenIn(const TemporaryFolder& folder) {
  auto store = HistoryStore::Open(folder.path(), "fuzz", kHistoryVocabulary, {});
  CHECK(store.ok()) << store.status();
  return *std::move(store);
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<TokenId> TokensOf(const Store& store) {
  std::vector<TokenId> tokens;
  store->Read([&](const SuffixAutomaton& texts, int64_t) { tokens.assign(texts.tokens().begin(), texts.tokens().end()); });
  return tokens;
}

// What a text of the store's own tokens is drafted to go on with.
void CheckDrafts(std::shared_ptr<HistoryStore> store, const std::vector<TokenId>& tokens) {
  SuffixDrafter drafter({.history = std::move(store)});
  std::vector<TokenId> text = {0};
  for (const TokenId token : tokens) {
    if (token != kSeparator && text.size() < 20) text.push_back(token);
  }
  drafter.Begin(text);
  TokenTree tree(text.back());
  const absl::Status status = drafter.Propose({.max_nodes = 12, .max_depth = 6}, tree);
  CHECK(status.ok()) << status;
  CHECK(tree.size() <= 13 && tree.Depth() <= 6);
  for (const TokenTree::Node& node : tree.nodes()) CHECK(node.token >= 0 && node.token < kHistoryVocabulary.size) << node.token;
}

// The last bytes as a text; sometimes with a token of no vocabulary, which is not kept.
std::vector<TokenId> TextOf(const std::string& bytes) {
  std::vector<TokenId> text;
  for (size_t i = bytes.size() - std::min<size_t>(bytes.size(), 6); i < bytes.size(); ++i) {
    text.push_back(static_cast<uint8_t>(bytes[i]) % (kHistoryVocabulary.size + 1));
  }
  return text;
}

// `had`: the tokens of the file, or why it was refused.
void AddAndClear(const TemporaryFolder& folder, const std::string& file, const absl::StatusOr<std::vector<TokenId>>& had) {
  const Store store = OpenIn(folder);
  std::vector<TokenId> expected = had.ok() ? *had : std::vector<TokenId>(), text = TextOf(file);
  store->Add(/*prompt=*/{1}, text);
  const bool added = !text.empty() && *std::max_element(text.begin(), text.end()) < kHistoryVocabulary.size;
  if (added) text.push_back(kSeparator);
  if (added) expected.insert(expected.end(), text.begin(), text.end());
  CHECK(TokensOf(store) == expected);

  const absl::Status saved = store->Save();
  if (absl::IsInvalidArgument(had.status())) {  // Another program's, or of another version.
    CHECK(saved.ok() ? !added : absl::IsFailedPrecondition(saved) && absl::StrContains(saved.message(), store->path())) << saved;
    CHECK(BytesOf(store->path()) == file) << "another's file has changed";
  } else {
    CHECK(saved.ok()) << saved;
    CHECK(TokensOf(OpenIn(folder)) == expected);
  }
  const absl::Status cleared = store->Clear();
  CHECK(cleared.ok()) << cleared;
  CHECK_EQ(store->tokens(), 0);
  CHECK_EQ(folder.Files(), 0);
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  if (input.empty()) return absl::InvalidArgumentError("no kind of input");
  std::string bytes(reinterpret_cast<const char*>(input.data()), input.size());
  const bool sealed = (bytes[0] & kSealed) != 0, added_to = (bytes[0] & kAddedTo) != 0;
  bytes = sealed ? SealedHistory(bytes.substr(1)) : bytes.substr(1);
  const auto tokens = DecodeHistory(bytes, "input", kHistoryVocabulary);
  if (!tokens.ok()) {
    CHECK(absl::IsInvalidArgument(tokens.status()) || absl::IsDataLoss(tokens.status())) << tokens.status();
    CHECK(absl::StartsWith(tokens.status().message(), "input: ")) << tokens.status();
    if (!added_to || bytes.size() > kLongestRefused) return tokens.status();
  } else {
    CHECK(EncodeHistory(kHistoryVocabulary, *tokens) == bytes);
  }
  const TemporaryFolder folder{TemporaryFolder::InMemory()};
  std::ofstream(OpenIn(folder)->path(), std::ios::binary) << bytes;
  Store store = OpenIn(folder);
  CHECK_EQ(store->tokens(), tokens.ok() ? static_cast<int64_t>(tokens->size()) : 0);
  if (tokens.ok()) CheckDrafts(std::move(store), *tokens);
  if (added_to) AddAndClear(folder, bytes, tokens);
  return tokens.status();
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds;
  const auto add = [&](const std::string& name, const std::string& file) {
    for (const int bits : {0, kSealed, kAddedTo, kSealed | kAddedTo}) {
      seeds.push_back({absl::StrCat(name, "_", bits), std::string(1, static_cast<char>(bits)) + file});
    }
  };
  add("good", GoodHistory());
  add("no-text", EncodeHistory(kHistoryVocabulary, {}));
  add("repeats", EncodeHistory(kHistoryVocabulary,
                               {{1, 2, 3, 1, 2, 4, 1, 2, 3, kSeparator, 1, 2, 4, 5, kSeparator, 2, 2, 2, 2, 2, kSeparator}}));
  for (const BadHistory& bad : BadHistories()) add(bad.name, bad.bytes);
  return seeds;
}

}  // namespace tessera
