# tessera_find(TARGET ERROR): makes a third-party target known, by the package that its name tells; the build and the installed
# package share this file.
#
#   absl::status             target of the CMake package absl
#   PkgConfig::libpcre2-8    module of pkg-config
#
# ERROR: what is missing; empty if nothing is.
function(tessera_find target error)
  set(${error} "")
  if(NOT TARGET ${target} AND target MATCHES "^PkgConfig::(.+)$")
    set(module ${CMAKE_MATCH_1})
    set(${error} "pkg-config knows no module ${module}")
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
      pkg_check_modules(${module} QUIET IMPORTED_TARGET ${module})
    endif()
  elseif(NOT TARGET ${target} AND target MATCHES "^(.+)::")
    set(package ${CMAKE_MATCH_1})
    set(${error} "the CMake package ${package} with the target ${target} is not found")
    find_package(${package} QUIET)
  endif()
  if(TARGET ${target})
    set(${error} "")
  endif()
  return(PROPAGATE ${error})
endfunction()
