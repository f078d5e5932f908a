# Installs the built tree into a scratch prefix, then configures, builds and runs a project that only knows that prefix.
# cmake -D BUILD=DIR -D SOURCE=DIR -D WORK=DIR -D CONFIG=NAME -D GENERATOR=NAME -D COMPILER=FILE -D FLAGS=TEXT -D CTEST=FILE
#       -D MPIRUN=COMMAND -P run.cmake
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --config ${CONFIG} OUTPUT_QUIET
                        COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${WORK}/prefix
          -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_FLAGS=${FLAGS} -D CMAKE_BUILD_TYPE=${CONFIG} -D "MPIRUN=${MPIRUN}"
          COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build --config ${CONFIG} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CTEST} --test-dir ${WORK}/build -C ${CONFIG} --output-on-failure
                        --no-tests=error COMMAND_ERROR_IS_FATAL ANY)
