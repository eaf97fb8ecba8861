# Makes a reference page of what mlir-tblgen printed: cmake -DTITLE=<title>
# "-DINPUTS=<file>;..." -DOUTPUT=<file> -P ReferencePage.cmake

set(page "<!-- Made from the .td files by 'ninja -C build kvc-docs'; edit those. -->\n# ${TITLE}\n")
foreach(input IN LISTS INPUTS)
  file(READ "${input}" text)
  # One title a page, and what only MLIR's own website understands.
  string(REGEX REPLACE "^<!--[^\n]*-->\n" "" text "${text}")
  string(REGEX REPLACE "^\n# [^\n]*\n" "" text "${text}")
  string(REPLACE "[TOC]\n\n" "" text "${text}")
  # Printed for every method, also of those that have a default.
  string(REPLACE "\nNOTE: This method *must* be implemented by the user.\n" "" text "${text}")
  string(REGEX REPLACE "\n\n\n+" "\n\n" text "${text}")
  string(APPEND page "${text}")
endforeach()
string(REGEX REPLACE "\n+$" "\n" page "${page}")
file(WRITE "${OUTPUT}" "${page}")
