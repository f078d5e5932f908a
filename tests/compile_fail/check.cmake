# cmake -D SOURCE=FILE -P check.cmake -- COMPILER FLAGS...
cmake_minimum_required(VERSION 3.25)

math(EXPR last "${CMAKE_ARGC} - 1")
set(compile "")
set(found FALSE)
foreach(i RANGE 1 ${last})
  if(found)
    list(APPEND compile "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(found TRUE)
  endif()
endforeach()

file(STRINGS ${SOURCE} first LIMIT_COUNT 1)
if(NOT first MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "${SOURCE}: the first line must be '// expect: TEXT'")
endif()
set(expected "${CMAKE_MATCH_1}")
set(ENV{LC_ALL} C)

execute_process(COMMAND ${compile} -DLIBRA_FAIL=0 ${SOURCE} RESULT_VARIABLE result OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} must compile with LIBRA_FAIL=0:\n${output}")
endif()

execute_process(COMMAND ${compile} -DLIBRA_FAIL=1 ${SOURCE} RESULT_VARIABLE result OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} must not compile with LIBRA_FAIL=1, but it did")
endif()
string(FIND "${output}" "${expected}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "${SOURCE} fails with LIBRA_FAIL=1, but the compiler does not say '${expected}':\n${output}")
endif()
