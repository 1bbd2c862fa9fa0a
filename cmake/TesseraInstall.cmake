# tessera_install_library(LAYER): installs a layer as the component LAYER: headers, both libraries, and the files by which CMake and
# pkg-config find it. What all layers share is installed with base. No installed file holds its own path (docs/packages.md).
#
# TESSERA_INSTALL: off where Tessera is a part of another project. Then nothing is installed or exported. An export would require that the
# project exports the libraries which it builds itself, too.
option(TESSERA_INSTALL "Install Tessera" ${PROJECT_IS_TOP_LEVEL})
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TESSERA_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

function(tessera_install_library layer)
  if(NOT TESSERA_INSTALL)
    return()
  endif()
  set(folder ${tessera_${layer}_FOLDER})
  tessera_nested_layers(${layer})
  list(TRANSFORM nested REPLACE "(.+)" "REGEX;${folder}/\\1$;EXCLUDE")
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera/${folder} COMPONENT ${layer}
          FILES_MATCHING PATTERN "*.h" PATTERN internal EXCLUDE PATTERN kernels EXCLUDE PATTERN profiles EXCLUDE ${nested})
  foreach(kind static shared)
    install(TARGETS tessera_${layer}_${kind} EXPORT tessera-${layer}-${kind}
            ARCHIVE COMPONENT ${layer} LIBRARY COMPONENT ${layer} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(EXPORT tessera-${layer}-${kind} NAMESPACE tessera:: DESTINATION ${TESSERA_CMAKE_DIR} COMPONENT ${layer})
  endforeach()
  tessera_install_cmake_files(${layer})
  tessera_install_pkg_config(${layer})
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
    list(REMOVE_ITEM layers apps)
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
