#include "tessera/quant/panel_schedule.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/random.h"
#include "tessera/quant/activation.h"

namespace tessera {
namespace {

PanelShape Shape(BlockFormat format, int64_t outputs, int64_t inputs) { return PanelShape::Of({"w", format, outputs, inputs}); }

// How often each panel of each matrix was multiplied by each row.
class Cells {
 public:
  Cells(const std::vector<PanelShape>& matrices, int64_t rows) : rows_(rows) {
    for (const PanelShape& matrix : matrices) times_.emplace_back(static_cast<size_t>(matrix.panels * rows));
  }

  void Count(int matrix, const Share& panels, const Share& rows) {
    EXPECT_LT(panels.begin, panels.end);
    EXPECT_LT(rows.begin, rows.end);
    for (int64_t p = panels.begin; p < panels.end; ++p) {
      for (int64_t r = rows.begin; r < rows.end; ++r) ++times_[matrix][p * rows_ + r];
    }
  }

  bool EachIs(int times) const {
    for (const auto& matrix : times_) {
      for (const std::atomic<int>& cell : matrix) {
        if (cell != times) return false;
      }
    }
    return true;
  }

 private:
  int64_t rows_;
  std::vector<std::vector<std::atomic<int>>> times_;
};

// Matrices of one Linear: sizes from one panel to many, in formats of very different bytes per panel.
const std::vector<PanelShape>& SomeMatrices(int which) {
  static const std::vector<std::vector<PanelShape>> all = {
      {Shape(BlockFormat::kQ4_0, 1, 32)},
      {Shape(BlockFormat::kQ4_0, 33, 256), Shape(BlockFormat::kF32, 32, 256), Shape(BlockFormat::kQ2_K, 999, 256)},
      {Shape(BlockFormat::kQ6_K, 576, 2560), Shape(BlockFormat::kQ4_K, 192, 2560), Shape(BlockFormat::kQ8_0, 192, 2560)},
      {Shape(BlockFormat::kF32, 70, 2048), Shape(BlockFormat::kQ2_K, 31, 2048)}};
  return all[which % all.size()];
}

std::string Described(const PanelSchedule::Work& work) {
  return absl::StrCat(work.matrices.size(), " matrices, ", work.rows, " rows, ", work.workers, " workers",
                      work.costly_parts ? ", costly" : "");
}

TEST(PanelSchedule, EveryCellIsComputedOnceWhateverTheShapesRowsAndWorkers) {
  for (int which = 0; which < 4; ++which) {
    const std::vector<PanelShape>& matrices = SomeMatrices(which);
    for (const int workers : {1, 2, 3, 7, 16}) {
      for (const int64_t rows : {1, 2, 31, 32, 63, 64, 65, 96, 97, 161, 256, 512, 1000}) {
        for (const bool costly : {false, true}) {
          const PanelSchedule::Work work = {.matrices = matrices, .rows = rows, .workers = workers, .costly_parts = costly};
          const PanelSchedule schedule(work);
          Cells cells(matrices, rows);
          std::vector<TakenParts> taken(workers);
          const auto count = [&](int matrix, const Share& panels, const Share& shared) { cells.Count(matrix, panels, shared); };
          schedule.Run(taken.data(), workers - 1, count, [] {});  // One does it all; the others find nothing left.
          ASSERT_TRUE(cells.EachIs(1)) << Described(work);
          for (int w = 0; w < workers; ++w) schedule.Run(taken.data(), w, count, [] {});
          ASSERT_TRUE(cells.EachIs(1)) << Described(work);
        }
      }
    }
  }
}

TEST(PanelSchedule, EveryCellIsComputedOnceByThreadsThatStealFromEachOther) {
  SeededRandom random(1);
  for (const int workers : {2, 3, 5}) {
    ThreadPool pool(workers);
    for (int i = 0; i < 60; ++i) {
      const std::vector<PanelShape>& matrices = SomeMatrices(i);
      const int64_t rows = 1 + static_cast<int64_t>(random.Next() % (i % 2 == 0 ? 40 : 400));
      const PanelSchedule::Work work = {.matrices = matrices, .rows = rows, .workers = workers, .costly_parts = i % 3 == 0};
      const PanelSchedule schedule(work);
      Cells cells(matrices, rows);
      std::vector<TakenParts> taken(workers);
      pool.Run([&](int worker) {
        schedule.Run(taken.data(), worker, [&](int matrix, const Share& panels, const Share& shared) {
          cells.Count(matrix, panels, shared);
        }, [] {});
      });
      ASSERT_TRUE(cells.EachIs(1)) << Described(work);
    }
  }
}

TEST(PanelSchedule, OthersFinishTheShareOfAWorkerThatNeverComes) {
  const std::vector<PanelShape>& matrices = SomeMatrices(2);
  for (const int64_t rows : {1, 300}) {
    const PanelSchedule schedule({.matrices = matrices, .rows = rows, .workers = 3});
    Cells cells(matrices, rows);
    std::vector<TakenParts> taken(3);
    const auto count = [&](int matrix, const Share& panels, const Share& shared) { cells.Count(matrix, panels, shared); };
    schedule.Run(taken.data(), /*worker=*/2, count, [] {});
    schedule.Run(taken.data(), /*worker=*/0, count, [] {});
    EXPECT_TRUE(cells.EachIs(1)) << rows;
  }
}

TEST(PanelSchedule, WaitsOnceForRowsOfOthersBeforeReadingAny) {
  const std::vector<PanelShape>& matrices = SomeMatrices(1);
  for (const int workers : {1, 2, 5}) {
    for (const int64_t rows : {1, 8, 31, 64, 160, 333}) {
      const PanelSchedule schedule({.matrices = matrices, .rows = rows, .workers = workers});
      for (int worker = 0; worker < workers; ++worker) {
        std::vector<TakenParts> taken(workers);
        const Share own = ShareOf(rows, worker, workers);
        int waits = 0;
        schedule.Run(taken.data(), worker, [&](int, const Share&, const Share& read) {
          const bool others_rows = read.begin < own.begin || own.end < read.end;
          EXPECT_TRUE(!others_rows || waits == 1) << workers << " workers, " << rows << " rows";
        }, [&] { ++waits; });
        EXPECT_EQ(waits, 1) << workers << " workers, " << rows << " rows";
      }
    }
  }
}

// Or all but one worker would wait for the first rows to be prepared, and every worker would fetch all rows.
TEST(PanelSchedule, OfManyRowsAWorkerBeginsWithItsOwn) {
  const std::vector<PanelShape>& matrices = SomeMatrices(2);
  const PanelSchedule schedule({.matrices = matrices, .rows = 200, .workers = 3});
  for (int worker = 0; worker < 3; ++worker) {
    std::vector<TakenParts> taken(3);
    const Share own = ShareOf(200, worker, 3);
    int64_t cells = 0;
    bool waited = false;
    schedule.Run(taken.data(), worker, [&](int, const Share& panels, const Share& rows) {
      if (!waited) cells += (panels.end - panels.begin) * (rows.end - rows.begin);
    }, [&] { waited = true; });
    EXPECT_EQ(cells, (own.end - own.begin) * (matrices[0].panels + matrices[1].panels + matrices[2].panels));
  }
}

// Weights would come from memory once per worker.
TEST(PanelSchedule, OfFewRowsAllAreMultipliedByAPanelAtOnce) {
  const std::vector<PanelShape>& matrices = SomeMatrices(2);
  const PanelSchedule schedule({.matrices = matrices, .rows = 63, .workers = 2});
  std::vector<TakenParts> taken(2);
  schedule.Run(taken.data(), 0, [](int, const Share&, const Share& rows) {
    EXPECT_EQ(rows.begin, 0);
    EXPECT_EQ(rows.end, 63);
  }, [] {});
}

TEST(PanelSchedule, PartsOfManyRowsStayInASecondLevelCache) {
  const std::vector<PanelShape> matrices = {Shape(BlockFormat::kQ8_0, 4096, 4096)};
  const PanelSchedule schedule({.matrices = matrices, .rows = 1024, .workers = 2});
  std::vector<TakenParts> taken(2);
  schedule.Run(taken.data(), 0, [&](int, const Share& panels, const Share& rows) {
    EXPECT_LE((panels.end - panels.begin) * matrices[0].panel_bytes, 256 << 10);
    EXPECT_LE((rows.end - rows.begin) * QuantizedRows::Groups(4096) * 64, 1 << 20);
  }, [] {});
}

// Each part of a row with an adapter computes all of its A (x) again.
TEST(PanelSchedule, CostlyPartsAreFewer) {
  const std::vector<PanelShape> matrices = {Shape(BlockFormat::kQ4_0, 4096, 1024)};
  const auto pieces = [&](bool costly) {
    const PanelSchedule schedule({.matrices = matrices, .rows = 64, .workers = 1, .costly_parts = costly});
    std::vector<TakenParts> taken(1);
    int count = 0;
    schedule.Run(taken.data(), 0, [&](int, const Share&, const Share&) { ++count; }, [] {});
    return count;
  };
  EXPECT_LE(pieces(true), 8);
  EXPECT_GE(pieces(false), 32);
}

TEST(PanelSchedule, NoRowsAreNoWork) {
  const PanelSchedule schedule({.matrices = SomeMatrices(1), .rows = 0, .workers = 2});
  std::vector<TakenParts> taken(2);
  int waits = 0;
  schedule.Run(taken.data(), 1, [](int, const Share&, const Share&) { ADD_FAILURE(); }, [&] { ++waits; });
  EXPECT_EQ(waits, 1);
}

TEST(PanelSchedule, HeaderExample) {
  const PanelShape gate = Shape(BlockFormat::kQ4_1, 1536, 576), up = gate;
  const int64_t rows = 3;
  ThreadPool pool(2);
  std::atomic<int64_t> outputs = 0;
  const auto multiply = [&](int matrix, const Share& panels, const Share& of_rows) {
    EXPECT_TRUE(matrix == 0 || matrix == 1);
    outputs += (panels.end - panels.begin) * PanelShape::kOutputs * (of_rows.end - of_rows.begin);
  };
  const PanelShape matrices[] = {gate, up};
  const PanelSchedule schedule({.matrices = matrices, .rows = rows, .workers = pool.threads()});
  std::vector<TakenParts> taken(pool.threads());
  pool.Run([&](int worker) {
    const uint64_t arrival = pool.Arrive();
    schedule.Run(taken.data(), worker, multiply, [&] { pool.AwaitOthers(arrival); });
  });
  EXPECT_EQ(outputs, 2 * 1536 * rows);
}

}  // namespace
}  // namespace tessera
