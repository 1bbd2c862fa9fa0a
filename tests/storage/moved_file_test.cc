// A file that is renamed, linked, or given another owner, mode or attribute is the same file: it is streamed on, every block compared from
// then on. One that is written to in place is another: streaming stops. Whatever happens to the path, only the file that was opened counts.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "absl/strings/match.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tessera/storage/layer_streamer.h"
#include "tessera/tests/fakes/file_times.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

const std::vector<int64_t> kUnitBytes = {5000, 1 << 20, 300'000, 700'000};
constexpr int kUnits = 4, kParts = 2;  // The unit of which the streamer with parts leases parts only.

struct Change {
  const char* name;
  std::function<void(const std::string& path)> go;
};

std::vector<Change> Moves() {
  return {{"renamed", [](const std::string& path) { PCHECK(rename(path.c_str(), (path + ".moved").c_str()) == 0); }},
          {"chmod", [](const std::string& path) { PCHECK(chmod(path.c_str(), 0640) == 0); }},
          {"chown", [](const std::string& path) { PCHECK(chown(path.c_str(), getuid(), getgid()) == 0); }},
          {"linked", [](const std::string& path) { PCHECK(link(path.c_str(), (path + ".link").c_str()) == 0); }},
          {"a link removed", [](const std::string& path) {
             PCHECK(link(path.c_str(), (path + ".link").c_str()) == 0 && unlink((path + ".link").c_str()) == 0);
           }},
          {"an attribute", [](const std::string& path) {
             PCHECK(setxattr(path.c_str(), "user.tessera", "x", 1, 0) == 0 || errno == EOPNOTSUPP || errno == EPERM);
           }},
          {"touch -a", [](const std::string& path) {
             const timespec times[] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
             PCHECK(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
           }},
          {"deleted", [](const std::string& path) { PCHECK(unlink(path.c_str()) == 0); }},
          {"replaced", [](const std::string& path) {
             std::ofstream(path + ".new") << "short\n";
             PCHECK(rename((path + ".new").c_str(), path.c_str()) == 0);
           }}};
}

// Another byte in the middle of a unit.
void Overwrite(const std::string& path, int64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(offset);
  file.put(byte);
}

void OverwriteAndSetTimeBack(const std::string& path, int64_t offset) {
  const auto written = std::filesystem::last_write_time(path);
  Overwrite(path, offset);
  std::filesystem::last_write_time(path, written);
}

class MovedFile : public testing::TestWithParam<IoKind> {
 protected:
  void Open(VerifyPolicy verify = VerifyPolicy::kFirst) {
    source_ = nullptr;
    CHECK_EQ(WriteTsrSample(path_, sample_), absl::OkStatus());
    file_ = Must(TsrReader::Open(path_));
    source_ = Must(LayerStreamer::Open(*file_, Options(verify)));
    WaitForLaterFileTime(path_);
  }
  LayerStreamer::Options Options(VerifyPolicy verify) const {
    LayerStreamer::Options options;
    options.pins = PlanPins(kUnitBytes, 0, PinPolicy::kNone);
    options.parts_only.assign(kUnits, false);
    options.parts_only[kParts] = true;
    options.ring_bytes = (1 << 20) + (1 << 18);  // Too small for all of a pass, so that every pass reads.
    options.verify = verify;
    options.io = GetParam();
    options.probe_in_child = true;
    return options;
  }
  int64_t Middle(int unit) const { return file_->UnitOffset(unit) + kUnitBytes[unit] / 2; }

  // The first error of a pass. What comes is always right.
  absl::Status Pass() {
    for (int unit = 0; unit < kUnits; ++unit) {
      const int64_t part = unit == kParts ? 4000 : 0, bytes = unit == kParts ? 100 : kUnitBytes[unit];
      std::vector<UnitPart> parts = {{unit, part, bytes}};
      const absl::StatusOr<std::vector<WeightLease>> leases = unit == kParts ? source_->AcquireParts(parts) : Whole(unit);
      RETURN_IF_ERROR(leases.status());
      EXPECT_EQ(std::memcmp((*leases)[0].bytes().data(), sample_.units[unit].data() + part, bytes), 0) << unit;
    }
    return absl::OkStatus();
  }
  // The first error of many; reading ahead may have come before a change.
  absl::Status Passes() {
    for (int pass = 0; pass < 4; ++pass) RETURN_IF_ERROR(Pass());
    return absl::OkStatus();
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("model.tsr");
  const TsrSample sample_ = MakeTsrSample(kUnitBytes);
  std::unique_ptr<TsrReader> file_;
  std::unique_ptr<LayerStreamer> source_;

 private:
  absl::StatusOr<std::vector<WeightLease>> Whole(int unit) {
    std::vector<WeightLease> leases;
    ASSIGN_OR_RETURN(leases.emplace_back(), source_->Acquire(unit));
    return leases;
  }
};

TEST_P(MovedFile, AMovedFileIsStillStreamed) {
  for (const Change& move : Moves()) {
    Open();
    ASSERT_EQ(Passes(), absl::OkStatus());
    move.go(path_);
    EXPECT_EQ(Passes(), absl::OkStatus()) << move.name;
    std::filesystem::remove(path_ + ".moved");
    std::filesystem::remove(path_ + ".link");
  }
}

TEST_P(MovedFile, AfterwardsEveryBlockIsComparedWhateverThePolicy) {
  for (const VerifyPolicy verify : {VerifyPolicy::kFirst, VerifyPolicy::kNever}) {
    for (const int unit : {1, kParts}) {
      Open(verify);
      ASSERT_EQ(Passes(), absl::OkStatus());
      ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
      ASSERT_EQ(Passes(), absl::OkStatus());
      OverwriteAndSetTimeBack(path_, Middle(unit));
      const absl::Status status = Passes();
      EXPECT_TRUE(absl::IsDataLoss(status)) << unit << ": " << status;
      EXPECT_TRUE(absl::StrContains(status.message(), "CRC-32C of block ")) << status;
    }
  }
}

TEST_P(MovedFile, AWriterThatSetsTheTimeBackIsNoticedByTheBytes) {
  for (const VerifyPolicy verify : {VerifyPolicy::kFirst, VerifyPolicy::kNever}) {
    for (const int unit : {1, kParts}) {
      Open(verify);
      ASSERT_EQ(Passes(), absl::OkStatus());
      OverwriteAndSetTimeBack(path_, Middle(unit));
      const absl::Status status = Passes();
      EXPECT_TRUE(absl::IsDataLoss(status)) << unit << ": " << status;
    }
  }
}

TEST_P(MovedFile, AFileWrittenToInPlaceIsNotStreamedAnyMore) {
  const std::vector<Change> writes = {
      {"overwritten", [this](const std::string& path) { Overwrite(path, Middle(3)); }},
      {"appended to", [](const std::string& path) { std::ofstream(path, std::ios::app) << "more"; }},
      {"cut", [](const std::string& path) { std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4096); }},
      {"touched", [](const std::string& path) { PCHECK(utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0); }}};
  for (const Change& write : writes) {
    Open();
    ASSERT_EQ(Passes(), absl::OkStatus());
    write.go(path_);
    const absl::Status status = Passes();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << write.name << ": " << status;
    EXPECT_TRUE(absl::StrContains(status.message(), path_ + ": the file changed while it was read: ")) << status;
  }
}

TEST_P(MovedFile, TheFileThatWasOpenedIsStreamedWhateverLiesAtItsPath) {
  for (const Change& move : Moves()) {
    source_ = nullptr;
    ASSERT_EQ(WriteTsrSample(path_, sample_), absl::OkStatus());
    file_ = Must(TsrReader::Open(path_));
    move.go(path_);
    source_ = Must(LayerStreamer::Open(*file_, Options(VerifyPolicy::kFirst)));
    EXPECT_EQ(Passes(), absl::OkStatus()) << move.name;
    std::filesystem::remove(path_ + ".moved");
    std::filesystem::remove(path_ + ".link");
  }
}

TEST_P(MovedFile, AFileCutBetweenItsHeaderAndItsWeightsIsAnError) {
  for (const int64_t size : {int64_t{0}, int64_t{4096}, int64_t{20'000}, int64_t{1'500'000}}) {
    source_ = nullptr;
    ASSERT_EQ(WriteTsrSample(path_, sample_), absl::OkStatus());
    file_ = Must(TsrReader::Open(path_));
    std::filesystem::resize_file(path_, size);
    absl::StatusOr<std::unique_ptr<LayerStreamer>> source = LayerStreamer::Open(*file_, Options(VerifyPolicy::kFirst));
    absl::Status status = source.status();
    if (source.ok()) {
      source_ = *std::move(source);
      status = Passes();
    }
    EXPECT_FALSE(status.ok()) << size;
    EXPECT_TRUE(absl::StrContains(status.message(), path_)) << status;
  }
}

std::string NameOf(const testing::TestParamInfo<IoKind>& info) { return info.param == IoKind::kAuto ? "Auto" : "Buffered"; }
INSTANTIATE_TEST_SUITE_P(LayerStreamer, MovedFile, testing::Values(IoKind::kAuto, IoKind::kBuffered), NameOf);

}  // namespace
}  // namespace tessera
