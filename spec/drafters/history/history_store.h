// Finished answers, kept under a name from one run to the next. New sequences that repeat old ones are drafted from the store.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<HistoryStore> store, HistoryStore::Open(folder, "mail", vocabulary, {}));
//   SuffixDrafter drafter({.history = store});           // any number of them, in any threads
//   store->Add(prompt, answer);                          // once it is finished
//   RETURN_IF_ERROR(store->Save());
//   RETURN_IF_ERROR(store->Clear());                     // nothing is drafted from, and no file is left
//
// Prompts are kept only if asked for. Memory is bounded: when full, the oldest half goes. A store has one vocabulary, which is part of the
// file's name.
//
// A file that cannot be read is ignored, and the store is then empty; ignored() says why. If the file is damaged, the next Save replaces
// the file, and replaced() says so. Any other unreadable file stays until Clear: a file of another program, vocabulary or newer version, a
// file that is too large, or a file that the system refuses to read. A file of the first version has another name, and stays likewise.
// ignored() names that file as long as there is none of this version.
//
// Files are written whole or not at all (docs: history_format.h). Processes with the same store do not lose each other's texts. Save
// appends new texts to the file's present texts, and brings nothing back that another process has cleared. A killed writer's leftover next
// to the file goes with the next Save or Clear in that folder (file.h). Thread-safe.
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

  // Opens the store and reads its file. `folder` is made by the first Save, for its owner alone. InvalidArgument if the name is not 1 to 64
  // letters, digits, '-' or '_', or if max_bytes is too small.
  static absl::StatusOr<std::unique_ptr<HistoryStore>> Open(const std::string& folder, const std::string& name,
                                                            const VocabularyId& vocabulary, const Options& options);

  const std::string& path() const { return path_; }
  // Returns why Open ignored the file at path() or one of the first version (file, field, found, expected). OK: the file was read, or there
  // was none.
  const absl::Status& ignored() const { return ignored_; }
  // Returns the fault of the file that the last Save replaced. OK: the file had no fault, or there was none.
  absl::Status replaced() const;
  // Adds a text. Forgets the oldest texts if there is no room. If a text is longer than half of the room, only its end is kept. A text with
  // a token outside of the vocabulary is not kept; models with a padded head may choose such tokens.
  void Add(absl::Span<const TokenId> prompt, absl::Span<const TokenId> answer);
  // Writes the new texts to the file. FailedPrecondition if the file there is not this store's, ResourceExhausted if the file is larger
  // than max_bytes. Unavailable if another process keeps the folder locked for longer than LockWait says. Otherwise the error of the
  // system. After an error the file is as before, and the next Save tries again.
  absl::Status Save();
  // Removes all texts and the file. Waits for saves of other processes, as Save does. If path() is a link, the target file is removed, too.
  // Files of the first version with the store's name are also removed, for any vocabulary.
  absl::Status Clear();

  // Gives all texts, a kSeparator after each, for as long as `read` runs: Add and Clear wait until `read` returns. The generation changes
  // whenever old texts have left. Cursors of an earlier generation are then meaningless.
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
  mutable std::mutex file_mutex_;          // Saves and clears, one at a time: none may bring back texts that another has removed.
  absl::Status replaced_;                  // Under file_mutex_.
  mutable std::shared_mutex mutex_;        // Guards the rest. Taken after file_mutex_.
  SuffixAutomaton texts_;
  int64_t added_ = 0, saved_ = 0;          // Tokens ever added here, and how many of them have gone to the file or were cleared.
  int64_t generation_ = 0;
};

}  // namespace tessera
