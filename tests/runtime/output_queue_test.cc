// Text between two threads: nothing is lost, nothing waits on the writing side, and a full queue says so.
#include "tessera/runtime/output_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tessera/base/random.h"

namespace tessera {
namespace {

TEST(OutputQueue, IsFullUntilItIsRead) {
  OutputQueue queue(4);
  int calls = 0;
  queue.OnRoom([&] { ++calls; });
  queue.Write("abc");
  EXPECT_FALSE(queue.full());
  queue.Write("def");
  EXPECT_TRUE(queue.full());
  EXPECT_EQ(queue.Read(), "abcdef");
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(queue.full());
  queue.Write("g");
  EXPECT_EQ(queue.Read(), "g");
  EXPECT_EQ(calls, 1) << "it was not full";
  queue.End();
  EXPECT_EQ(queue.Read(), std::nullopt);
}

TEST(OutputQueue, WhatWasWrittenBeforeTheEndIsRead) {
  OutputQueue queue(100);
  queue.Write("last words");
  queue.End();
  EXPECT_EQ(queue.Read(), "last words");
  EXPECT_EQ(queue.Read(), std::nullopt);
}

TEST(OutputQueue, OnceDroppedItIsNeverFull) {
  OutputQueue queue(2);
  int calls = 0;
  queue.OnRoom([&] { ++calls; });
  queue.Write("abcdef");
  queue.Drop();
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(queue.full());
  queue.Write("more");
  EXPECT_FALSE(queue.full());
  EXPECT_EQ(queue.Read(), std::nullopt);
}

TEST(OutputQueue, AThreadReadsAllThatAnotherWrites) {
  OutputQueue queue(64);
  std::string read;
  std::thread reader([&] {
    while (const std::optional<std::string> text = queue.Read()) read += *text;
  });
  std::string written;
  for (uint64_t i = 0; i < 20000; ++i) {
    const std::string text(1 + CounterRandom(1, 2, i) % 7, static_cast<char>('a' + i % 26));
    while (queue.full()) std::this_thread::yield();
    queue.Write(text);
    written += text;
  }
  queue.End();
  reader.join();
  EXPECT_EQ(read, written);
}

}  // namespace
}  // namespace tessera
