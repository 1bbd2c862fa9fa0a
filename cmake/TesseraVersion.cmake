# tessera_version(TARGET): TARGET's sources may include "tessera_version.h", which defines TESSERA_VERSION and TESSERA_COMMIT.
#
# A commit does not configure the build again. So every build runs this file as a script. It writes the header only if that changes it, so
# after a new commit only the files that include it are compiled.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(tessera_version target)
    set(folder ${PROJECT_BINARY_DIR}/version)
    add_custom_target(tessera_version BYPRODUCTS ${folder}/tessera_version.h COMMENT "" VERBATIM
      COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION} -DHEADER=${folder}/tessera_version.h
              -P ${PROJECT_SOURCE_DIR}/cmake/TesseraVersion.cmake)
    add_dependencies(${target} tessera_version)
    target_include_directories(${target} PRIVATE ${folder})
  endfunction()
  return()
endif()

cmake_minimum_required(VERSION 3.25)
set(commit unknown)
if(EXISTS ${SOURCE}/.git)  # Do not take the commit of another repository that holds the source in a subfolder.
  execute_process(COMMAND git --no-optional-locks -C ${SOURCE} describe --always --dirty --exclude=*
                  OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(described)
    set(commit ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define TESSERA_VERSION \"@VERSION@\"\n#define TESSERA_COMMIT \"@commit@\"\n" @ONLY)
