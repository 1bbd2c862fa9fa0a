// Leases a unit of weights that lies in memory.
#include <iostream>

#include "tessera/storage/resident_source.h"

int main() {
  using namespace tessera;
  const absl::StatusOr<std::unique_ptr<ResidentSource>> source = ResidentSource::Create({100, 5000});
  if (!source.ok()) {
    std::cout << "storage: " << source.status() << "\n";
    return 1;
  }
  (*source)->Unit(1)[4999] = std::byte{42};
  const absl::StatusOr<WeightLease> lease = (*source)->Acquire(1);
  const int last = lease.ok() ? std::to_integer<int>(lease->bytes().back()) : -1;
  std::cout << "storage: unit 1 ends with " << last << "; " << lease.status() << "\n";
  return last == 42 ? 0 : 1;
}
