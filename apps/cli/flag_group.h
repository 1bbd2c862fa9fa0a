// Flags that belong together, under a title of the help text.
//
//   FlagGroup group = ModelFlags();                 // engine_flags.h
//   group.Without("trace").Without("dry_run")       // the same with fewer
//
// A flag is defined in the file that reads it, and declared beside that: a program has the flags of what it links, and takes those of its
// groups (command_line.h). The same name means the same thing in every program. A flag's description is "PLACEHOLDER|what it does"; the
// placeholder TEXT says that the value may be empty. docs/flags.md lists them all.
#pragma once

#include <string>
#include <vector>

namespace tessera {

struct FlagGroup {
  std::string title;
  std::vector<std::string> flags;    // Names without dashes.

  FlagGroup With(const std::string& flag) const {
    FlagGroup group = *this;
    group.flags.push_back(flag);
    return group;
  }
  FlagGroup Without(const std::string& flag) const {
    FlagGroup group = *this;
    std::erase(group.flags, flag);
    return group;
  }
};

}  // namespace tessera
