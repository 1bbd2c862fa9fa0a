// The reader of history files: what it accepts is written back to the byte, and drafts; whatever else is refused by name.
//
// The checksum would stop nearly every change at the door. So the first byte of an input says whether it is taken as it is, or with the
// checksum made right.
#include <algorithm>
#include <fstream>

#include "absl/strings/match.h"
#include "glog/logging.h"
#include "tessera/spec/history_store.h"
#include "tessera/spec/suffix_drafter.h"
#include "tessera/tests/fakes/bad_histories.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr char kAsItIs = 0, kSealed = 1;

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

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  if (input.empty()) return absl::InvalidArgumentError("no kind of input");
  std::string bytes(reinterpret_cast<const char*>(input.data()), input.size());
  const bool sealed = bytes[0] % 2 == kSealed;
  bytes = sealed ? SealedHistory(bytes.substr(1)) : bytes.substr(1);
  const auto tokens = DecodeHistory(bytes, "input", kHistoryVocabulary);
  if (!tokens.ok()) {
    CHECK(absl::IsInvalidArgument(tokens.status()) || absl::IsDataLoss(tokens.status())) << tokens.status();
    CHECK(absl::StartsWith(tokens.status().message(), "input: ")) << tokens.status();
    return tokens.status();
  }
  CHECK(EncodeHistory(kHistoryVocabulary, *tokens) == bytes);
  const TemporaryFolder folder{TemporaryFolder::InMemory()};
  const auto open = [&] { return HistoryStore::Open(folder.path(), "fuzz", kHistoryVocabulary, {}); };
  auto store = open();
  CHECK(store.ok()) << store.status();
  std::ofstream((*store)->path(), std::ios::binary) << bytes;
  store = open();
  CHECK(store.ok()) << store.status();
  CHECK_EQ((*store)->tokens(), static_cast<int64_t>(tokens->size()));
  CheckDrafts(*std::move(store), *tokens);
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds;
  const auto add = [&](const std::string& name, const std::string& file) {
    seeds.push_back({name, kAsItIs + file});
    seeds.push_back({name + "-sealed", kSealed + file});
  };
  add("good", GoodHistory());
  add("no-text", EncodeHistory(kHistoryVocabulary, {}));
  add("repeats", EncodeHistory(kHistoryVocabulary,
                               {{1, 2, 3, 1, 2, 4, 1, 2, 3, kSeparator, 1, 2, 4, 5, kSeparator, 2, 2, 2, 2, 2, kSeparator}}));
  for (const BadHistory& bad : BadHistories()) add(bad.name, bad.bytes);
  return seeds;
}

}  // namespace tessera
