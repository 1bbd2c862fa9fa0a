// Work cut into parts that the workers of a pool take one by one, so that a delayed worker delays the others little.
//
//   std::vector<TakenParts> taken(workers);                        // All 0 before the workers begin; one vector per piece of work.
//   ForEachPart(taken.data(), worker, workers, parts, [&](int64_t part) { ... });    // On every worker; each part is done once.
//   ForEachPart(taken.data(), worker, workers, parts, do_part, [&] { pool.AwaitOthers(arrival); });   // Waits before it helps.
//
// Every worker has a share of neighbouring parts (ShareOf). A worker takes half of the rest of its share at a time, at most
// kMostPartsAtOnce, in order. Then the worker helps the others, part by part. A delayed worker keeps the others waiting for
// kMostPartsAtOnce parts at most.
//
// Threads: called by several workers at once, each with a different index.
//
// Why not part by part from the start: taking a part is an atomic addition. The addition waits until all earlier stores are in the cache,
// and lines of results come from other cores. With one addition per part, passes of several rows took 2 to 5 % longer (SmolLM2, two
// workers, build/bin/tessera_bench rows --rows 1,2,4,6,8 --threads 2).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "tessera/base/thread_pool.h"

namespace tessera {

struct alignas(64) TakenParts {
  std::atomic<int64_t> count{0};  // Parts of one worker's share that are taken, by any worker.
};

constexpr int64_t kMostPartsAtOnce = 4;

// Calls f(part) for the parts of `worker`: every part of [0, parts) runs on exactly one worker. Calls before_helping once, after the
// worker's own parts and before parts of others; never if there is only one worker.
template <typename F, typename BeforeHelping>
void ForEachPart(TakenParts* taken, int worker, int workers, int64_t parts, F f, BeforeHelping before_helping) {
  for (int i = 0; i < workers; ++i) {
    if (i == 1) before_helping();
    const int owner = (worker + i) % workers;
    const Share share = ShareOf(parts, owner, workers);
    const int64_t count = share.end - share.begin;
    std::atomic<int64_t>& next = taken[owner].count;
    // Reads the count before the addition: if all parts are taken, the lines of other workers are not written.
    for (int64_t taken_so_far; (taken_so_far = next.load(std::memory_order_relaxed)) < count;) {
      const int64_t wanted = i == 0 ? std::clamp<int64_t>((count - taken_so_far) / 2, 1, kMostPartsAtOnce) : 1;
      const int64_t first = next.fetch_add(wanted, std::memory_order_relaxed);
      for (int64_t part = first; part < std::min(first + wanted, count); ++part) f(share.begin + part);
    }
  }
}

template <typename F>
void ForEachPart(TakenParts* taken, int worker, int workers, int64_t parts, F f) {
  ForEachPart(taken, worker, workers, parts, f, [] {});
}

}  // namespace tessera
