# Libraries and programs of the compiler. They share one precompiled header: the
# headers of MLIR's dialects and conversions cost 20 to 30 s a file without it.

# GCC gives up on indentation in large files, and says so each time.
set(KVC_WARNINGS -Wall -Wextra -Wno-unused-parameter -Wno-misleading-indentation)

# kvc_precompile(<target>): compiles <target> with the common header.
function(kvc_precompile target)
  target_precompile_headers(${target} REUSE_FROM KVCPrecompiled)
  target_compile_options(${target} PRIVATE ${KVC_WARNINGS})
endfunction()

# kvc_add_library(<name> <sources>... [DEPENDS <targets>...] [LINK <libraries>...])
function(kvc_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  kvc_precompile(${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
endfunction()

# kvc_add_tool(<name> <sources>... [LINK <libraries>...])
function(kvc_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  # The precompiled header is -fPIC code, which CMake would make -fPIE here.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  kvc_precompile(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} MLIR LLVM)
endfunction()
