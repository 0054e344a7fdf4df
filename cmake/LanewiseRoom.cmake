# A room is one folder of src/ (docs/architecture.md). Its sources are all *.cpp files in it; its
# dependencies are named, so that a room can use only what the architecture allows.
#
#   lanewise_room(rdna2 ROOMS support container LIBS fmt::fmt)
function(lanewise_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                                           -Wno-missing-field-initializers)
  if(LANEWISE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(LANEWISE_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${LANEWISE_SANITIZE} -fno-omit-frame-pointer
                                            -fno-sanitize-recover=undefined)
    target_link_options(${target} PUBLIC -fsanitize=${LANEWISE_SANITIZE})
  endif()
endfunction()

# Release builds spend no more time on code that takes none of a user's: the tests, reports, the command line.
function(lanewise_built_quickly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# Most of the time of a clean build is spent on reading headers, so sources of a target are compiled several at a time.
# Names in their anonymous namespaces are therefore unique in a room. LANEWISE_UNITY=OFF compiles each alone, which
# suits work on single files; the presets of clang do, so that both ways are built.
option(LANEWISE_UNITY "Compile several sources at a time" ON)
function(lanewise_several_at_a_time target count)
  if(LANEWISE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count})
  endif()
endfunction()

function(lanewise_room name)
  cmake_parse_arguments(ROOM "" "" "ROOMS;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_library(lanewise_${name} OBJECT ${sources})
  target_include_directories(lanewise_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(lanewise_${name} PUBLIC ${ROOM_LIBS})
  foreach(room ${ROOM_ROOMS})
    if(TARGET lanewise_${room})
      target_link_libraries(lanewise_${name} PUBLIC $<TARGET_PROPERTY:lanewise_${room},INTERFACE_LINK_LIBRARIES>)
    endif()
  endforeach()
  lanewise_warnings(lanewise_${name})
  lanewise_several_at_a_time(lanewise_${name} 12)
  set_property(GLOBAL APPEND PROPERTY LANEWISE_ROOMS lanewise_${name})
  set_property(GLOBAL APPEND PROPERTY LANEWISE_ROOM_LIBS ${ROOM_LIBS})
endfunction()

# One test program for each room: tests/<room>/*.cpp.
function(lanewise_tests room)
  cmake_parse_arguments(T "" "" "LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${room}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${room} ${sources})
  target_link_libraries(test_${room} PRIVATE lanewise_static GTest::gtest GTest::gtest_main ${T_LIBS})
  target_include_directories(test_${room} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(test_${room} PRIVATE
    LANEWISE_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}/data"
    LANEWISE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    LANEWISE_COMMAND="$<TARGET_FILE:lanewise>")
  lanewise_warnings(test_${room})
  lanewise_built_quickly(test_${room})
  lanewise_several_at_a_time(test_${room} 6)
  add_dependencies(test_${room} lanewise)
  gtest_discover_tests(test_${room} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)
endfunction()
