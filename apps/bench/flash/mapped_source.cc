#include "tessera/apps/bench/flash/mapped_source.h"

#include <sys/mman.h>

#include <cerrno>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

absl::Status Failed(const TsrReader& file, absl::string_view call, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat(file.path(), ": ", call));
}

class MappedSource : public WeightSource {
 public:
  MappedSource(const TsrReader& file, std::byte* bytes) : file_(file), bytes_(bytes) {}
  MappedSource(const MappedSource&) = delete;
  MappedSource& operator=(const MappedSource&) = delete;
  ~MappedSource() override { munmap(bytes_, file_.file_bytes()); }

  int units() const override { return file_.units(); }
  absl::StatusOr<WeightLease> Acquire(int unit) override { return WeightLease(this, unit, Unit(unit), /*pinned=*/false); }
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override {
    std::vector<WeightLease> leases;
    for (const UnitPart& part : parts) leases.emplace_back(this, part.unit, Unit(part.unit).subspan(part.offset, part.bytes), false);
    return leases;
  }

  // Locks the pinned units in memory, which reads in all missing pages.
  absl::Status Lock(const std::vector<bool>& pinned) {
    for (int unit = 0; unit < units(); ++unit) {
      if (pinned[unit] && mlock(Unit(unit).data(), Unit(unit).size()) != 0) return Failed(file_, "mlock of a pinned unit", errno);
    }
    return absl::OkStatus();
  }

 private:
  absl::Span<const std::byte> Unit(int unit) const {
    CHECK(unit >= 0 && unit < units()) << "unit " << unit << " of " << units();
    return {bytes_ + file_.UnitOffset(unit), static_cast<size_t>(file_.UnitBytes(unit))};
  }
  void Release(int, absl::Span<const std::byte>) override {}

  const TsrReader& file_;
  std::byte* const bytes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WeightSource>> OpenMapped(const TsrReader& file, const StreamPlan& plan) {
  CHECK_EQ(plan.pins.pinned.size(), static_cast<size_t>(file.units()));
  void* bytes = mmap(nullptr, file.file_bytes(), PROT_READ, MAP_SHARED, file.file()->descriptor(), 0);
  if (bytes == MAP_FAILED) return Failed(file, "mmap", errno);
  auto source = std::make_unique<MappedSource>(file, static_cast<std::byte*>(bytes));
  if (const absl::Status same = file.file()->CheckUnchanged(); !same.ok()) return same;
  // If the file system has no large pages, this is refused or does nothing, and pages are small.
  if (madvise(bytes, file.file_bytes(), MADV_HUGEPAGE) != 0) LOG(INFO) << Failed(file, "no large pages: madvise", errno).message();
  if (const absl::Status locked = source->Lock(plan.pins.pinned); !locked.ok()) return locked;
  return source;
}

}  // namespace tessera
