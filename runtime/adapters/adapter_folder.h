// Finds adapters in a folder, each by the name of its file or folder there.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<AdapterFolder> folder, AdapterFolder::Open("lora/"));
//   folder->ReadInto(&cache, base);
//   if (folder->WhyNot("pirate").empty()) {                            // lora/pirate is there
//     ASSIGN_OR_RETURN(const int number, folder->NumberOf("pirate"));  // of an adapter of the cache, which reads it when it is leased
//   }
//
// Names come from outside. A name is a file or a folder directly in the folder, links followed: it has no slash, begins with no dot, and is
// printable. A file is looked at whenever a request names it. A file that was written, replaced or renamed since (another device,
// number, size or time) is another adapter from then on, with another number: texts that have the adapter before keep it, and nothing is
// shared. Threads: one at a time; the cache's reads may be on any thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/runtime/adapters/adapter_base.h"
#include "tessera/runtime/engine/adapter_cache.h"

namespace tessera {

class AdapterFolder {
 public:
  // WrongUsage (adapter_folder) for a path that is no folder.
  static absl::StatusOr<std::unique_ptr<AdapterFolder>> Open(const std::string& path);

  // Returns an empty text if there is such an adapter, or at least a file or folder; else the words for a name that was expected
  // (AdapterNames::why_not).
  std::string WhyNot(const std::string& name) const;

  // Takes the cache to which adapters are added, and the model that they are for. The cache must outlive this.
  void ReadInto(AdapterCache* cache, std::shared_ptr<const AdapterBase> base) { cache_ = cache, base_ = std::move(base); }
  // Returns the number of an adapter in the cache. The errors of AdapterReader::Open, which has looked at all but numbers; NotFound for a
  // name that is not there. REQUIRES: ReadInto.
  absl::StatusOr<int> NumberOf(const std::string& name);

 private:
  explicit AdapterFolder(std::string path) : path_(std::move(path)) {}
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }

  const std::string path_;
  AdapterCache* cache_ = nullptr;
  std::shared_ptr<const AdapterBase> base_;
  struct Known {
    std::string version = {};
    int number = 0;
  };
  std::map<std::string, Known> known_;   // By name, as it was when it was named last.
};

}  // namespace tessera
