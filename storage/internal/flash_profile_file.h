// FlashProfile and its protobuf form, for code in storage that reads and writes the form.
//
//   ASSIGN_OR_RETURN(FlashProfileFile file, ParseFlashProfileFile(text, path));
//   ASSIGN_OR_RETURN(FlashProfile profile, ProfileOf(file, path));
#pragma once

#include "tessera/storage/flash_profile.h"
#include "tessera/storage/flash_profile.pb.h"

namespace tessera {

absl::StatusOr<FlashProfileFile> ParseFlashProfileFile(absl::string_view text, absl::string_view source);
absl::StatusOr<FlashProfile> ProfileOf(const FlashProfileFile& file, absl::string_view source);  // Checked, sorted.
std::string FlashProfileText(const FlashProfileFile& file);

}  // namespace tessera
