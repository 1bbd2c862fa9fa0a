# Builds for 64-bit Arm with Debian's cross compiler, against the libraries in TESSERA_ARM64_SYSROOT; tests run under an emulator.
#
#   cmake -S . -B build-arm64 --toolchain cmake/arm64-toolchain.cmake -DTESSERA_ARM64_SYSROOT=FOLDER
#
# scripts/tests/test_arm64.sh makes the folder and does all of it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TESSERA_ARM64_SYSROOT)
set(CMAKE_SYSROOT ${TESSERA_ARM64_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)

# "max" has every extension that the emulator knows, including dot products.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu max -L ${CMAKE_SYSROOT})
