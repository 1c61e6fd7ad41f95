# Early expansion: every component's CMakeLists.txt is included in script mode, where there are
# neither targets nor projects, to learn what it requires; registering ends the file.
cmake_policy(VERSION 3.16)
set(CMAKE_BUILD_EARLY_EXPANSION 1)

macro(idf_component_register)
    set(registered 1)
    return()
endmacro()

function(expand)
    set(registered 0)
    include(${COMPONENT_DIR}/CMakeLists.txt)
    if(NOT registered)
        message(FATAL_ERROR "${COMPONENT_DIR} does not register a component")
    endif()
endfunction()
expand()
