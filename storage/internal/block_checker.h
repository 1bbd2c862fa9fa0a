// Compares blocks of a .tsr file with their checksums, as often as a policy requires, and remembers the compared blocks.
//
//   BlockChecker checker(file, VerifyPolicy::kFirst);
//   RETURN_IF_ERROR(checker.Check(offset, bytes));        // of the file: a whole block, or a range of blocks that are trusted
//   if (checker.Trusts(unit, block)) ReadOnlyWhatIsNeeded();
//
// Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/verify_policy.h"

namespace tessera {

class BlockChecker {
 public:
  BlockChecker(const TsrReader& file, VerifyPolicy policy) : file_(file), policy_(policy), verified_(file.blocks()) {}

  // Checks bytes of the file. Returns the errors of TsrReader::CheckBlock. Bytes that are no whole block are not compared. REQUIRES: the
  // bytes lie in one unit.
  absl::Status Check(int64_t offset, absl::Span<const std::byte> bytes);
  // For messages: TsrReader::Describe of that byte of the file. REQUIRES: `offset` lies in a unit.
  std::string Describe(int64_t offset) const;
  // Returns whether a part of the unit's block may be read without the rest of the block.
  bool Trusts(int unit, int64_t block_of_unit) const;
  // From now on every block is compared each time, for every policy.
  void TrustNothing() { policy_ = VerifyPolicy::kAlways; }
  bool trusting() const { return policy_ != VerifyPolicy::kAlways; }  // Whether some blocks may stay uncompared.

 private:
  const TsrReader& file_;
  VerifyPolicy policy_;
  std::vector<bool> verified_;
};

// Options for units whose blocks the checker compares, at most read_bytes per read. The checker must outlive the reader.
BlockReader::Options CheckedReads(BlockChecker& checker, int64_t read_bytes);

}  // namespace tessera
