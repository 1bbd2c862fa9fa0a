# tessera_find(TARGET ERROR): defines a third-party target, by the package that its name names. The build and the installed package share
# this file, so it needs no newer CMake than users of the package (3.16).
#
#   absl::status             target of the CMake package absl
#   PkgConfig::libutf8proc   module of pkg-config
#
# ERROR: what is missing, and which Debian package has it; empty if nothing is missing.
#
# tessera_absl_namespace(VARIABLE): the inline namespace of the Abseil that the absl:: targets stand for, such as debian3 or
# lts_20240722. Libraries that were built with one namespace do not link with another.
set(tessera_debian_absl libabsl-dev)
set(tessera_debian_libglog libgoogle-glog-dev)
set(tessera_debian_gflags libgflags-dev)
set(tessera_debian_protobuf libprotobuf-dev)
set(tessera_debian_libedit libedit-dev)
set(tessera_debian_liburing liburing-dev)
set(tessera_debian_libutf8proc libutf8proc-dev)
set(tessera_debian_libseccomp libseccomp-dev)
set(tessera_debian_Eigen3 libeigen3-dev)
set(tessera_debian_nlohmann_json nlohmann-json3-dev)
set(tessera_debian_GTest libgtest-dev)
set(tessera_debian_Threads libc6-dev)

function(tessera_find target error)
  set(found "")
  if(NOT TARGET ${target} AND target MATCHES "^PkgConfig::(.+)$")
    set(module ${CMAKE_MATCH_1})
    set(found "pkg-config knows no module ${module} (on Debian: apt-get install pkg-config ${tessera_debian_${module}})")
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
      pkg_check_modules(${module} QUIET IMPORTED_TARGET ${module})
    endif()
  elseif(NOT TARGET ${target} AND target MATCHES "^(.+)::")
    set(package ${CMAKE_MATCH_1})
    set(found "the CMake package ${package} with the target ${target} is not found")
    string(APPEND found " (on Debian: apt-get install ${tessera_debian_${package}})")
    find_package(${package} QUIET)
  endif()
  if(TARGET ${target})
    set(found "")
  endif()
  set(${error} "${found}" PARENT_SCOPE)
endfunction()

function(tessera_absl_namespace variable)
  get_target_property(folders absl::status INTERFACE_INCLUDE_DIRECTORIES)
  set(name unknown)
  foreach(folder ${folders} ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
    string(REGEX REPLACE "^\\$<BUILD_INTERFACE:(.*)>$" "\\1" folder "${folder}")
    if(EXISTS "${folder}/absl/base/options.h")
      file(STRINGS "${folder}/absl/base/options.h" lines REGEX "^#define ABSL_OPTION_(USE_INLINE_NAMESPACE|INLINE_NAMESPACE_NAME) ")
      if(lines MATCHES "USE_INLINE_NAMESPACE 0")
        set(name none)
      elseif(lines MATCHES "INLINE_NAMESPACE_NAME ([A-Za-z0-9_]+)")
        set(name ${CMAKE_MATCH_1})
      endif()
      break()
    endif()
  endforeach()
  set(${variable} ${name} PARENT_SCOPE)
endfunction()
