# tessera_protos(LAYER LIST): generates C++ of every LAYER/*.proto and appends it to LIST. The layer's .cc files (and
# its headers in internal/, which are not installed) include it as "tessera/LAYER/NAME.pb.h".
# tessera_profiles(LAYER): generates "tessera/LAYER/profiles.inc", a line {"NAME", "TEXT"} for every LAYER/profiles/NAME.textproto, so
# that programs find them wherever they lie.
set(TESSERA_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)

function(tessera_protos layer list)
  file(GLOB protos CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/${layer} ${PROJECT_SOURCE_DIR}/${layer}/*.proto)
  if(NOT protos)
    return()
  endif()
  find_program(TESSERA_PROTOC protoc)
  if(NOT TESSERA_PROTOC)
    message(FATAL_ERROR "protoc is not found; scripts/install_packages.sh installs what Tessera needs")
  endif()
  file(MAKE_DIRECTORY ${TESSERA_GENERATED_DIR})
  foreach(proto ${protos})
    get_filename_component(name ${proto} NAME_WE)
    set(generated ${TESSERA_GENERATED_DIR}/tessera/${layer}/${name}.pb)
    add_custom_command(OUTPUT ${generated}.cc ${generated}.h
      COMMAND ${TESSERA_PROTOC} --proto_path=${PROJECT_BINARY_DIR}/include --cpp_out=${TESSERA_GENERATED_DIR} tessera/${layer}/${proto}
      DEPENDS ${PROJECT_SOURCE_DIR}/${layer}/${proto} COMMENT "protoc ${layer}/${proto}" VERBATIM)
    set_property(SOURCE ${generated}.cc APPEND PROPERTY COMPILE_OPTIONS -w -fvisibility=hidden)  # Warnings are protoc's to heed.
    list(APPEND ${list} ${generated}.cc)
  endforeach()
  return(PROPAGATE ${list})
endfunction()

function(tessera_profiles layer)
  file(GLOB profiles CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${layer}/profiles/*.textproto)
  if(NOT profiles)
    return()
  endif()
  set(lines "")
  foreach(profile ${profiles})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${profile})
    get_filename_component(name ${profile} NAME_WLE)
    file(READ ${profile} text)
    string(APPEND lines "{\"${name}\", R\"profile(${text})profile\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${TESSERA_GENERATED_DIR}/tessera/${layer}/profiles.inc CONTENT "@lines@" @ONLY)
endfunction()
