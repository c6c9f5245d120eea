// Lines of Criteo's logs become the right examples.

#include <gtest/gtest.h>

#include <cmath>

#include "lazydp/data/schema.h"
#include "tests/data/converting.h"

namespace lazydp {
namespace {

class ConvertingCriteo : public Converting {
 protected:
  ConvertingCriteo() { schema_ = criteo_schema({1000}, 0); }

  // A line with one field replaced.
  static std::string line(std::size_t field, const std::string& value) {
    std::string text;
    for (std::size_t i = 0; i < 40; ++i) {
      const std::string usual = i == 0 ? "1" : i < 14 ? std::to_string(i) : "0000abcd";
      text += (i > 0 ? "\t" : "") + (i == field ? value : usual);
    }
    return text + "\n";
  }
};

TEST_F(ConvertingCriteo, TakesTheirLines) {
  run(line(0, "0") + line(1, "") + line(2, "-5") + line(14, "") + line(15, "ABCD"));
  const Batch batch = read();
  ASSERT_EQ(batch.size, 5u);
  EXPECT_EQ(batch.labels, (std::vector<float>{0, 1, 1, 1, 1}));
  EXPECT_FLOAT_EQ(batch.dense.row(0)[0], std::log(2.0f));
  EXPECT_EQ(batch.dense.row(1)[0], 0.0f);
  EXPECT_EQ(batch.dense.row(2)[1], 0.0f);
  EXPECT_NE(batch.bags[0].ids[0], 0);
  EXPECT_EQ(batch.bags[0].ids[3], 0);
  EXPECT_EQ(batch.bags[1].ids[4], batch.bags[1].ids[0]);  // the same number, written otherwise
}

TEST_F(ConvertingCriteo, RefusesWhatIsNotTheirs) {
  EXPECT_NE(complaint(line(0, "2")).find("label is '2'"), std::string::npos);
  EXPECT_EQ(complaint(line(14, "xyz")),
            "1:33: C1 is 'xyz'; it must be at most 16 hexadecimal digits");
  EXPECT_NE(complaint(line(14, "-1")).find("hexadecimal"), std::string::npos);
  EXPECT_NE(complaint(line(14, "12345678901234567")).find("hexadecimal"), std::string::npos);
  EXPECT_EQ(complaint(line(3, "9223372036854775808")),
            "1:7: I3 is '9223372036854775808'; it must be a whole number of 64 bits");
  EXPECT_NE(complaint(line(3, "1.5")).find("I3 is '1.5'; it must be a whole number"),
            std::string::npos);
  EXPECT_NE(complaint(line(39, "1\t2")).find("41 columns; it must have 40"), std::string::npos);
}

}  // namespace
}  // namespace lazydp
