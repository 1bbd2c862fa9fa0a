// The flags that name files, what each does with its file, and whether the files of a run get in each other's way.
//
//   RETURN_IF_ERROR(CheckFilesDiffer(info, {}));    // --trace: m.gguf: found the model itself (--model), expected another file
//   EndOnSignals(WhenReaderGoes(info));
//
// docs/files_in_and_out.md says what happens for each kind of file. Threads: one at a time.
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
    kReadsText,        // Read once, whatever kind of file it is.
    kReadsRegular,     // Read as a whole, perhaps twice: a regular file.
    kReadsFolder,      // The regular files in it.
    kKeepsFiles,       // A name, not a path: files of the cache that are read and written.
    kReadsOrWrites,    // Read if it is there, else made: a regular file.
    kWritesText,       // Written once, whatever kind of file it is.
    kWritesModel,      // A regular file, or a new one.
  };
  std::string name;
  Use use;
};

const std::vector<PathFlag>& PathFlags();  // All of all programs.

// Checks that no output of the run would overwrite another of its files. Reads no file. `flag_files`: the flag files that the command line
// named. Returns WrongUsage of the flag in these cases:
//   - An output is also an input (the model or one of its parts, by any name or link), another output, a file in a folder that is read, or
//     a file in a history's folder.
//   - An output that must be a file is "-".
//   - Standard output or standard error goes to the model, to another input that must be a regular file (costs, flash, ...), or into a
//     history's folder.
//   - Standard output goes to the file from which requests (--jsonl) or messages (--chat) are read.
absl::Status CheckFilesDiffer(const AppInfo& info, const std::vector<std::string>& flag_files);

// What the end of standard output's reader means to a run with these flags.
ReaderGone WhenReaderGoes(const AppInfo& info);

}  // namespace tessera
