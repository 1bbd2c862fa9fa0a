#include "tessera/base/process_forks.h"

#include <pthread.h>

#include <atomic>

#include "glog/logging.h"

namespace tessera {
namespace {

std::atomic<int64_t> forks{0};

bool CountForks() {
  CHECK_EQ(pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }), 0) << "pthread_atfork";
  return true;
}

}  // namespace

int64_t ForksSoFar() {
  static const bool are_counted = CountForks();
  return are_counted ? forks.load(std::memory_order_relaxed) : 0;
}

}  // namespace tessera
