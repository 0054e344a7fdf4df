#include "support/error.hpp"

#include <gtest/gtest.h>

using lanewise::Error;
using lanewise::ErrorKind;

TEST(Error, OneLineWithWhereWhatHint) {
  EXPECT_EQ((Error{ErrorKind::input, "truncated", "a.co, offset 0x1c", "compile it again"}.to_string()),
            "a.co, offset 0x1c: truncated (compile it again)");
  EXPECT_EQ((Error{ErrorKind::call, "no such kernel", "", ""}.to_string()), "no such kernel");
}
