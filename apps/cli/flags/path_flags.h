// The flags that name files, with the use of each file. Checks that the files of a run do not get in each other's way.
//
//   RETURN_IF_ERROR(CheckFilesDiffer(info, {}));    // --trace: m.gguf: found the model itself (--model), expected another file
//   EndOnSignals(WhenReaderGoes(info));
//
// docs/files_in_and_out.md tells the behaviour for each kind of file. Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tessera/apps/cli/command_line.h"
#include "tessera/apps/cli/interrupt.h"

namespace tessera {

struct PathFlag {
  enum class Use {
    kReadsModel,       // A regular file, read at many places.
    kReadsText,        // Read once; any kind of file.
    kReadsRegular,     // Read as a whole, perhaps twice: a regular file.
    kReadsFolder,      // The regular files in a folder.
    kKeepsFiles,       // A name, not a path: files of the cache that are read and written.
    kReadsOrWrites,    // A regular file: read if the file is there, else made.
    kWritesText,       // Written once; any kind of file.
    kWritesModel,      // A regular file, or a new one.
  };
  std::string name;
  Use use;
};

const std::vector<PathFlag>& PathFlags();  // The flags of all programs.

// Checks that no output of the run would overwrite another file of the run. Reads no file. `flag_files`: the flag files that the command
// line named. Returns WrongUsage of the flag in the following cases:
//   - An output is also an input (the model or one of its parts, by any name or link), another output, a file in a folder that is read, or
//     a file in a history's folder.
//   - An output that must be a file is "-".
//   - Standard output or standard error goes to the model, to another input that must be a regular file (costs, flash, ...), or into a
//     history's folder.
//   - Standard output goes to the file from which requests (--jsonl) or messages (--chat) are read.
absl::Status CheckFilesDiffer(const AppInfo& info, const std::vector<std::string>& flag_files);

// Returns the meaning of the end of standard output's reader for a run with the given flags.
ReaderGone WhenReaderGoes(const AppInfo& info);

}  // namespace tessera
