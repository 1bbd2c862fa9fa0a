# tessera_install_library(LAYER): installs a layer as the component LAYER: headers, the libraries that were built, and the files by which
# CMake and pkg-config find the layer. The files that all layers share are installed with base. No installed file holds its own path
# (docs/packages.md). The targets tessera_static and tessera_shared build that kind of library of all layers.
# tessera_install_programs(LAYER TARGETS): installs the programs of apps, bench or lab that were built, as the component LAYER.
#
# A build of some targets can be installed: the installation names each library and program that was not built, with the target that builds
# the file. A layer of which no library was built is an error if the layer was asked for by name; so is base, without which nothing links.
#
# TESSERA_INSTALL: off where Tessera is a part of another project. Then nothing is installed or exported. An export would require that the
# project exports the libraries which it builds itself, too.
option(TESSERA_INSTALL "Install Tessera" ${PROJECT_IS_TOP_LEVEL})
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TESSERA_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

# Lets the installation of COMPONENT name those of the targets that were not built. ALL: a target that builds all of them. Without any of
# them the installation fails where COMPONENT was asked for, and in any case for base.
function(tessera_install_tells component all)
  string(CONFIGURE [[
    set(tessera_missing "")
    set(tessera_built FALSE)
    foreach(target @ARGN@)
      if(EXISTS "${tessera_file_of_${target}}")
        set(tessera_built TRUE)
      else()
        list(APPEND tessera_missing ${target})
      endif()
    endforeach()
    list(JOIN tessera_missing ", " tessera_missing)
    if(NOT tessera_built AND ("@component@" STREQUAL "base" OR CMAKE_INSTALL_COMPONENT))
      message(FATAL_ERROR "@component@ was not built: build one of the targets ${tessera_missing} (or @all@), and install again")
    elseif(tessera_missing)
      message(STATUS "Not built, so not installed: ${tessera_missing}")
    endif()]] code @ONLY)
  set(files "")
  foreach(target ${ARGN})
    string(APPEND files "    set(tessera_file_of_${target} \"$<TARGET_FILE:${target}>\")\n")
  endforeach()
  install(CODE "${files}${code}" COMPONENT ${component})
endfunction()

function(tessera_install_library layer)
  if(NOT TESSERA_INSTALL)
    return()
  endif()
  tessera_install_tells(${layer} "tessera_static, tessera_shared" tessera_${layer}_static tessera_${layer}_shared)
  set(folder ${tessera_${layer}_FOLDER})
  tessera_nested_layers(${layer})
  list(TRANSFORM nested REPLACE "(.+)" "REGEX;${folder}/\\1$;EXCLUDE")
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera/${folder} COMPONENT ${layer}
          FILES_MATCHING PATTERN "*.h" PATTERN internal EXCLUDE PATTERN kernels EXCLUDE PATTERN profiles EXCLUDE ${nested})
  foreach(kind static shared)
    install(TARGETS tessera_${layer}_${kind} EXPORT tessera-${layer}-${kind}
            ARCHIVE COMPONENT ${layer} OPTIONAL LIBRARY COMPONENT ${layer} OPTIONAL INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(EXPORT tessera-${layer}-${kind} NAMESPACE tessera:: DESTINATION ${TESSERA_CMAKE_DIR} COMPONENT ${layer})
    if(NOT TARGET tessera_${kind})
      add_custom_target(tessera_${kind})
    endif()
    add_dependencies(tessera_${kind} tessera_${layer}_${kind})
  endforeach()
  tessera_forward_headers(${layer})
  tessera_install_cmake_files(${layer})
  tessera_install_pkg_config(${layer})
endfunction()

# The headers of LAYER that have moved: cmake/moved_headers.txt has a line for each, its old path, its new one, and what else it
# brought. At the old path a header forwards to these, for a release.
function(tessera_forward_headers layer)
  file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/moved_headers.txt lines REGEX "^${tessera_${layer}_FOLDER}/")
  foreach(line ${lines})
    string(REPLACE " " ";" paths ${line})
    list(GET paths 0 old)
    list(GET paths 1 new)
    list(REMOVE_AT paths 0)
    list(TRANSFORM paths REPLACE "(.+)" "#include \"tessera/\\1\"")
    list(JOIN paths "\n" includes)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/moved/tessera/${old} @ONLY CONTENT
"// Deprecated: include tessera/@new@. This file goes with the next release (docs/upgrading.md).
#pragma once
@includes@
")
    get_filename_component(folder ${old} DIRECTORY)
    install(FILES ${PROJECT_BINARY_DIR}/moved/tessera/${old} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera/${folder} COMPONENT ${layer})
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/moved_headers.txt)
endfunction()

function(tessera_install_programs layer)
  if(NOT TESSERA_INSTALL)
    return()
  endif()
  tessera_install_tells(${layer} tessera_${layer}_all ${ARGN})
  install(TARGETS ${ARGN} RUNTIME COMPONENT ${layer} OPTIONAL)
endfunction()

function(tessera_install_cmake_files layer)
  set(folder ${PROJECT_BINARY_DIR}/package)
  set(needs ${tessera_${layer}_LINKS})
  set(needs_static ${tessera_${layer}_PRIVATE_LINKS})
  file(CONFIGURE OUTPUT ${folder}/tessera-${layer}-needs.cmake @ONLY CONTENT [[
# What tessera::@layer@ needs: first both kinds of library, then the static one in addition.
set(needs @needs@)
set(needs_static @needs_static@)
]])
  install(FILES ${folder}/tessera-${layer}-needs.cmake DESTINATION ${TESSERA_CMAKE_DIR} COMPONENT ${layer})
  if(layer STREQUAL "base")
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT base)
    set(layers ${tessera_layers})
    list(REMOVE_ITEM layers apps bench lab)
    tessera_absl_namespace(absl_namespace)
    configure_package_config_file(cmake/tessera-config.cmake.in ${folder}/tessera-config.cmake
      INSTALL_DESTINATION ${TESSERA_CMAKE_DIR} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
    write_basic_package_version_file(${folder}/tessera-config-version.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${folder}/tessera-config.cmake ${folder}/tessera-config-version.cmake cmake/tessera-find.cmake
            DESTINATION ${TESSERA_CMAKE_DIR} COMPONENT base)
  endif()
endfunction()

# Sets `modules` to the names that pkg-config has for `targets`; threads are flags for it, not a module.
function(tessera_pkg_config_modules targets)
  list(REMOVE_ITEM targets Threads::Threads)
  list(TRANSFORM targets REPLACE "^PkgConfig::" "" OUTPUT_VARIABLE modules)
  list(TRANSFORM modules REPLACE "^tessera::" "tessera-")
  list(TRANSFORM modules REPLACE "^absl::" "absl_")
  if(modules MATCHES "::")
    message(FATAL_ERROR "cmake/TesseraInstall.cmake must be told what pkg-config calls these: ${modules}")
  endif()
  list(JOIN modules " " modules)
  return(PROPAGATE modules)
endfunction()

function(tessera_install_pkg_config layer)
  file(RELATIVE_PATH prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  file(RELATIVE_PATH libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
  file(RELATIVE_PATH includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  string(REGEX REPLACE "/$" "" prefix ${prefix})
  tessera_pkg_config_modules("${tessera_${layer}_PRIVATE_LINKS}")
  set(private_modules ${modules})
  tessera_pkg_config_modules("${tessera_${layer}_LINKS}")
  set(threads "")
  if("Threads::Threads" IN_LIST tessera_${layer}_LINKS)
    set(threads -pthread)
  endif()
  # A static glog needs a static libunwind, which Debian's libglog.pc does not name. Both libunwind and libgcc_eh define _Unwind_Resume: the
  # compiler's own must come first, or the linker finds two.
  set(private_flags "")
  if("PkgConfig::libglog" IN_LIST tessera_${layer}_LINKS)
    string(APPEND private_modules " libunwind")
    set(private_flags -lgcc_eh)
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/tessera-${layer}.pc @ONLY CONTENT [[
prefix=${pcfiledir}/@prefix@
libdir=${prefix}/@libdir@
includedir=${prefix}/@includedir@

Name: tessera-@layer@
Description: The layer @layer@ of Tessera, an engine for language models; its headers need -std=c++20 or later
Version: @PROJECT_VERSION@
Requires: @modules@
Requires.private: @private_modules@
Libs: -L${libdir} -ltessera_@layer@ @threads@
Libs.private: @private_flags@
Cflags: -I${includedir} @threads@
]])
  install(FILES ${PROJECT_BINARY_DIR}/package/tessera-${layer}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${layer})
endfunction()
