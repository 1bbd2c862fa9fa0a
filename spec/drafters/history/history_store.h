// Finished answers, kept under a name from one run to the next, to draft from where a new text repeats an old one.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<HistoryStore> store, HistoryStore::Open(folder, "mail", vocabulary, {}));
//   SuffixDrafter drafter({.history = store});           // any number of them, in any threads
//   store->Add(prompt, answer);                          // once it is finished
//   RETURN_IF_ERROR(store->Save());
//   RETURN_IF_ERROR(store->Clear());                     // nothing is drafted from, and no file is left
//
// Prompts are kept only if asked for. Memory is bounded: when it is full, the oldest half goes. A store is of one vocabulary, which is
// part of the file's name. A file that cannot be read is ignored, and the store is then empty: ignored() says why. If it is damaged, the
// next Save replaces it: replaced() says so. Any other stays until Clear: one that another program, vocabulary or newer version wrote, that
// is too large, or that the system does not let us read. One of the first version lies under another name, and stays likewise: ignored()
// names it as long as there is none of this version.
// Files are written whole or not at all (docs: history_format.h). Processes with the same store lose nothing of each other's: Save puts
// what is new behind what the file has by then, and brings nothing back that another has cleared. What a writer that was killed left
// beside its file goes with the next Save or Clear in that folder (file.h).
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/spec/drafters/history/history_format.h"
#include "tessera/spec/drafters/history/suffix_automaton.h"

namespace tessera {

class HistoryStore {
 public:
  struct Options {
    int64_t max_bytes = int64_t{64} << 20;   // Memory. At least 64 KiB.
    bool keep_prompts = false;
    const std::atomic<bool>* cancel = nullptr;   // Ends a wait for another process (LockWait::cancel); must outlive the store.
  };

  // `folder` is made by the first Save, for its owner alone. InvalidArgument if the name is not 1 to 64 letters, digits, '-' or '_',
  // or if max_bytes is too small.
  static absl::StatusOr<std::unique_ptr<HistoryStore>> Open(const std::string& folder, const std::string& name,
                                                            const VocabularyId& vocabulary, const Options& options);

  const std::string& path() const { return path_; }
  // Why the file that lay at path(), or one of the first version, was ignored by Open (file, field, found, expected). OK: it was read, or
  // there was none.
  const absl::Status& ignored() const { return ignored_; }
  // What was wrong with the file that the last Save replaced. OK: nothing, or there was none.
  absl::Status replaced() const;
  // Forgets the oldest texts if there is no room; of a text longer than half of the room its end is kept. One with a token outside of the
  // vocabulary, as models with a padded head may choose, is not kept.
  void Add(absl::Span<const TokenId> prompt, absl::Span<const TokenId> answer);
  // FailedPrecondition if the file there is not this store's, ResourceExhausted if it is larger than max_bytes, Unavailable if another
  // process keeps the folder locked for longer than LockWait says; otherwise the error of the system. The file is then as it was, and the
  // next Save tries again.
  absl::Status Save();
  // Waits for saves of other processes, as Save does. If path() is a link, the file that it points to is removed, too; and so are files of
  // the first version with the store's name, of any vocabulary.
  absl::Status Clear();

  // Gives all texts, a kSeparator after each, for as long as `read` runs: Add and Clear wait for it. The generation is another one
  // whenever old texts have left; cursors of the one before mean nothing then.
  void Read(absl::FunctionRef<void(const SuffixAutomaton& texts, int64_t generation)> read) const;
  int64_t tokens() const;
  int64_t bytes() const;

 private:
  HistoryStore(std::string path, const std::string& name, const VocabularyId& vocabulary, const Options& options);
  std::vector<std::string> OlderPaths() const;   // Files of the first version, of any vocabulary: none can be read.
  absl::Status CheckOlder() const;               // InvalidArgument (path, version) if there is one.
  void Load();
  absl::StatusOr<std::vector<TokenId>> ReadFile() const;
  absl::Status SaveLocked();
  absl::Status RemoveFile();
  void KeepNewest(int64_t tokens);

  const std::string path_, name_;
  const VocabularyId vocabulary_;
  const Options options_;
  absl::Status ignored_;                   // Never changes after Open.
  mutable std::mutex file_mutex_;          // Saves and clears, one at a time: none may bring back what another has removed.
  absl::Status replaced_;                  // Under file_mutex_.
  mutable std::shared_mutex mutex_;        // Guards the rest. Taken after file_mutex_.
  SuffixAutomaton texts_;
  int64_t added_ = 0, saved_ = 0;          // Tokens ever added here, and how many of them have gone to the file or were cleared.
  int64_t generation_ = 0;
};

}  // namespace tessera
