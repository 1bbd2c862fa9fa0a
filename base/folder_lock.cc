#include "tessera/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/internal/descriptor.h"
#include "tessera/base/internal/lock_holder.h"
#include "tessera/base/process_forks.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kLookNanos = 2'000'000;   // Much less than a file takes to be synced.

// A thread's place among the threads of this process that want the same folder. Without places, a thread that polls for a free lock would
// come after a thread that takes the lock again at once.
class Turn {
 public:
  explicit Turn(const struct stat& folder) : folder_(ForksSoFar(), folder.st_dev, folder.st_ino) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_[folder_].push_back(this);
  }
  ~Turn() {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = waiting_.find(folder_);
    found->second.remove(this);
    if (found->second.empty()) waiting_.erase(found);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  bool HasCome() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return waiting_[folder_].front() == this;
  }

 private:
  using Folder = std::tuple<int64_t, dev_t, ino_t>;   // A forked process has none of the threads that wait in its parent.
  static inline std::mutex mutex_;
  static inline std::map<Folder, std::list<const Turn*>> waiting_;   // Guarded by mutex_.
  const Folder folder_;
};

// Returns false if another holder has the lock.
bool TryLock(const Descriptor& folder) {
  int result;
  while ((result = flock(folder.get(), LOCK_EX | LOCK_NB)) != 0 && errno == EINTR) {}
  return result == 0 || errno != EWOULDBLOCK;   // With the other codes the file system has no locks.
}

absl::Status StillLocked(const Descriptor& folder, const std::string& path, double seconds, bool interrupted) {
  const std::string holder = OtherHolderOf(folder.get()).value_or("another thread or process");
  return absl::UnavailableError(absl::StrCat(path, ": found its lock (flock) held by ", holder, absl::StrFormat(" for %.3g s", seconds),
                                             interrupted ? ", until the wait was interrupted" : "", ", expected it free"));
}

absl::Status Await(const Turn& turn, const Descriptor& folder, const std::string& path, const LockWait& wait) {
  const bool asked_before = wait.cancel != nullptr && *wait.cancel;
  if (turn.HasCome() && TryLock(folder)) return absl::OkStatus();
  const Clock& clock = GivenOrRealClock(wait.clock);
  const int64_t begin = clock.NowNanos();
  while (true) {
    const int64_t waited = clock.NowNanos() - begin;
    const bool interrupted = !asked_before && wait.cancel != nullptr && *wait.cancel;
    if (interrupted || waited >= wait.most_nanos) return StillLocked(folder, path, static_cast<double>(waited) * 1e-9, interrupted);
    SleepNanos(std::clamp<int64_t>(wait.most_nanos - waited, 1, kLookNanos));
    if (turn.HasCome() && TryLock(folder)) return absl::OkStatus();
  }
}

}  // namespace

absl::Status WithFolderLocked(const std::string& folder, absl::FunctionRef<absl::Status()> work, const LockWait& wait) {
  const std::string path = folder.empty() ? "." : folder;
  struct stat about;
  Descriptor descriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0 || fstat(descriptor.get(), &about) != 0) return SystemError(path, "open");
  const Turn turn(about);
  const Descriptor locked = std::move(descriptor);   // Destroyed before the turn ends; closing unlocks the folder.
  RETURN_IF_ERROR(Await(turn, locked, path, wait));
  const absl::Status status = work();
  flock(locked.get(), LOCK_UN);   // Also for processes that were forked meanwhile, which have the descriptor, too.
  return status;
}

}  // namespace tessera
