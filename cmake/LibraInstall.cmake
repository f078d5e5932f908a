include(CMakePackageConfigHelpers)

set(LIBRA_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/libra)

# libra_install_component(TARGET NAME): installs TARGET and its header set as libra::NAME.
# What the component needs in turn is listed in libraConfig.cmake.in.
function(libra_install_component target name)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  install(
    TARGETS ${target}
    EXPORT libra-${name}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(
    EXPORT libra-${name}
    NAMESPACE libra::
    FILE libra-${name}-targets.cmake
    DESTINATION ${LIBRA_INSTALL_CMAKEDIR})
endfunction()

# libra_install_package(): installs what find_package(libra) reads.
function(libra_install_package)
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/libraConfig.cmake.in ${PROJECT_BINARY_DIR}/libraConfig.cmake
    INSTALL_DESTINATION ${LIBRA_INSTALL_CMAKEDIR}
    NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/libraConfigVersion.cmake
    VERSION ${PROJECT_VERSION}
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/libraConfig.cmake ${PROJECT_BINARY_DIR}/libraConfigVersion.cmake
                ${PROJECT_SOURCE_DIR}/cmake/FindLibcsv.cmake ${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake
          DESTINATION ${LIBRA_INSTALL_CMAKEDIR})
endfunction()
