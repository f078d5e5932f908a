# Builds libra::cuda alone with LIBRA_CUDA=ON, as a user does, installs it, and builds and runs a project that only knows
# the installed component. Kernels are compiled as quickly as nvcc can: nobody runs them.
# cmake -D LIBRA=DIR -D SOURCE=DIR -D WORK=DIR -D GENERATOR=NAME -D COMPILER=FILE -D CTEST=FILE -P run_cuda.cmake
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${WORK})
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${LIBRA} -B ${WORK}/libra -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER}
          -D CMAKE_CUDA_HOST_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=Debug -D LIBRA_CUDA=ON -D LIBRA_WERROR=ON
          -D CMAKE_CUDA_FLAGS=--Ofast-compile=max -D CMAKE_CUDA_ARCHITECTURES=90 -D LIBRA_BUILD_TESTS=OFF
          -D LIBRA_BUILD_TOOLS=OFF -D LIBRA_BUILD_BENCH=OFF -D LIBRA_BUILD_EXAMPLES=OFF
          -D CMAKE_DISABLE_FIND_PACKAGE_hwy=ON # without it there is no libra::host, which takes longer than this
          COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/libra COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${WORK}/libra --prefix ${WORK}/prefix OUTPUT_QUIET
                        COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${WORK}/prefix
          -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=Debug -D COMPONENTS=cuda COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CTEST} --test-dir ${WORK}/build --output-on-failure --no-tests=error -R with_cuda
                        COMMAND_ERROR_IS_FATAL ANY)
