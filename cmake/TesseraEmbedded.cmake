# tessera_embedded(PATTERN INCLUDE): generates "tessera/INCLUDE", a line {"NAME", "TEXT"} for every file that matches PATTERN, by the file's
# name without its ending, so that programs have these texts wherever they are installed. No file: nothing stands in it.
# tessera_profiles(LAYER): the same for LAYER/profiles/*.textproto, as "tessera/LAYER/profiles.inc", where a layer has such.
function(tessera_embedded pattern include)
  file(GLOB texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${pattern})
  set(lines "")
  foreach(path ${texts})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    get_filename_component(name ${path} NAME_WLE)
    file(READ ${path} text)
    string(APPEND lines "{\"${name}\", R\"embedded(${text})embedded\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/tessera/${include} CONTENT "@lines@" @ONLY)
endfunction()

function(tessera_profiles layer)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${layer}/profiles)
    tessera_embedded(${layer}/profiles/*.textproto ${layer}/profiles.inc)
  endif()
endfunction()
