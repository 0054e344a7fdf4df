# Writes OUT, which defines lanewise::runtime::build_id(): a hash of all sources, so that caches of another build
# are never taken for this one's. FILES is a file that lists them, one a line.
file(STRINGS ${FILES} sources)
list(SORT sources)
set(all "")
foreach(source ${sources})
  file(SHA256 ${source} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 32 id)
file(WRITE ${OUT} "#include \"runtime/keys.hpp\"\nnamespace lanewise::runtime {\nstd::string_view build_id() { return \"${id}\"; }\n}\n")
