# tessera_precompile(TARGET GROUP): compiles TARGET's sources after one precompiled header of standard and Abseil headers, which saves
# about a second of CPU per file. Targets of one GROUP (layers, apps, tests) are compiled with the same flags and share one header, which
# the first of them builds. Kernels have flags of their own and none (cmake/TesseraKernels.cmake).
#
# TESSERA_PCH: off, each source includes what it needs and nothing else, as scripts/checks/check_headers.py and the build with clang
# (scripts/test.sh --all) prove. Off with ccache, which could not keep objects that depend on such a header.
set(precompiled ON)
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES ccache)
  set(precompiled OFF)
endif()
option(TESSERA_PCH "Precompile standard and Abseil headers" ${precompiled})

set(TESSERA_PRECOMPILED_HEADERS
  <algorithm> <array> <atomic> <cmath> <condition_variable> <cstddef> <cstdint> <cstring> <deque> <functional> <limits> <map> <memory>
  <mutex> <optional> <set> <string> <string_view> <thread> <tuple> <type_traits> <unordered_map> <utility> <variant> <vector>
  <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/container/inlined_vector.h> <absl/functional/function_ref.h>
  <absl/status/status.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_format.h> <absl/strings/str_join.h>
  <absl/strings/string_view.h> <absl/types/span.h>)

function(tessera_precompile target group)
  if(NOT TESSERA_PCH)
    return()
  endif()
  get_property(owner GLOBAL PROPERTY TESSERA_PRECOMPILED_OF_${group})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    set_property(GLOBAL PROPERTY TESSERA_PRECOMPILED_OF_${group} ${target})
    target_precompile_headers(${target} PRIVATE ${TESSERA_PRECOMPILED_HEADERS} ${ARGN})
  endif()
endfunction()
