#include "tessera/base/shared_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace tessera {
namespace {

std::vector<int> TimesDone(int workers, int64_t parts) {
  ThreadPool pool(workers);
  std::vector<TakenParts> taken(workers);
  std::vector<std::atomic<int>> done(parts);
  pool.Run([&](int worker) {
    ForEachPart(taken.data(), worker, workers, parts, [&](int64_t part) { ++done[part]; });
  });
  return {done.begin(), done.end()};
}

TEST(SharedWork, EveryPartIsDoneOnceWithAnyNumberOfWorkers) {
  for (const int workers : {1, 2, 3, 5}) {
    for (const int64_t parts : {0, 1, 2, 7, 100})
      EXPECT_EQ(TimesDone(workers, parts), std::vector<int>(parts, 1)) << workers << " " << parts;
  }
}

TEST(SharedWork, OneWorkerDoesTheRemainingPartsOfTheOthers) {
  std::vector<TakenParts> taken(3);
  std::vector<int64_t> order;
  ForEachPart(taken.data(), /*worker=*/1, /*workers=*/3, /*parts=*/7, [&](int64_t part) { order.push_back(part); });
  EXPECT_EQ(order, (std::vector<int64_t>{3, 4, 5, 6, 0, 1, 2}));  // Its own, then those of the next.
}

TEST(SharedWork, AHeldUpWorkerKeepsFourPartsAtMost) {
  for (const int64_t parts : {2, 9, 16, 64}) {
    std::vector<TakenParts> taken(2);
    std::vector<int> done(parts);
    int64_t left = -1;
    ForEachPart(taken.data(), /*worker=*/0, /*workers=*/2, parts, [&](int64_t part) {
      if (part == 0) {  // The other comes and goes before this one gets on.
        ForEachPart(taken.data(), /*worker=*/1, 2, parts, [&](int64_t other) { ++done[other]; });
        left = std::count(done.begin(), done.end(), 0);
      }
      ++done[part];
    });
    EXPECT_LE(left, 4) << parts;
    EXPECT_EQ(done, std::vector<int>(parts, 1));
  }
}

TEST(SharedWork, HelpsOnlyAfterWaiting) {
  std::vector<TakenParts> taken(2);
  std::vector<int64_t> order;
  const auto note = [&](int64_t part) { order.push_back(part); };
  ForEachPart(taken.data(), /*worker=*/0, /*workers=*/2, /*parts=*/4, note, [&] { order.push_back(-1); });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, -1, 2, 3}));
  ForEachPart(taken.data(), /*worker=*/1, /*workers=*/2, /*parts=*/4, note, [&] { order.push_back(-2); });
  EXPECT_EQ(order.back(), -2);  // Also where nothing is left: whoever has arrived must wait for the others.
}

TEST(SharedWork, HeaderExample) {
  const int worker = 0, workers = 1, parts = 3;
  int64_t sum = 0;
  std::vector<TakenParts> taken(workers);
  ForEachPart(taken.data(), worker, workers, parts, [&](int64_t part) { sum += part; });
  EXPECT_EQ(sum, 3);
}

}  // namespace
}  // namespace tessera
