# libra_warnings: linked privately by libra's own targets; never installed, so that no user inherits it.
add_library(libra_warnings INTERFACE)
target_compile_options(
  libra_warnings
  INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:
            -Wall
            -Wextra
            -Wpedantic
            -Wconversion
            -Wsign-conversion # clang's -Wconversion has it, gcc's has not
            -Wshadow
            -Wold-style-cast
            # libstdc++ 12 trips it inside std::stable_sort; gcc still warns of our own uses
            $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-Wno-deprecated-declarations>
            # gcc 12 trips over its own std::string operator+ (GCC bug 105651)
            $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
            $<$<BOOL:${LIBRA_WERROR}>:-Werror>>)

# libra_quick: linked privately by tests and examples, whose builds spend their time on optimising headers that each
# instantiates anew; what is timed or shipped keeps -O3.
add_library(libra_quick INTERFACE)
target_compile_options(
  libra_quick
  INTERFACE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>>:-O1>
            # gcc 12 at this level takes inlined allocations and optionals for mistakes
            $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-maybe-uninitialized;-Wno-mismatched-new-delete>)
