// Style and script of the page, parts of it as they are.
#pragma once

namespace lanewise::report {

extern const char* const kExploreStyle;
extern const char* const kExploreScript;

} // namespace lanewise::report
