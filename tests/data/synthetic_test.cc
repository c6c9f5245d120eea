#include "lazydp/data/synthetic/synthetic.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

double exponent_of(std::string_view name) {
  return std::get<AccessLaw>(parse_synthetic(name)).zipf_exponent;
}

TEST(ParseSynthetic, KnowsTheTasks) {
  EXPECT_EQ(std::get<ClickSize>(parse_synthetic("click")), ClickSize::small);
  EXPECT_EQ(std::get<ClickSize>(parse_synthetic("click:large")), ClickSize::large);
}

TEST(ParseSynthetic, KnowsTheAccessLaws) {
  EXPECT_EQ(exponent_of("uniform"), 0.0);
  EXPECT_EQ(exponent_of("zipf:1.05"), 1.05);
  EXPECT_EQ(exponent_of("zipf:1"), 1.0);
  EXPECT_EQ(exponent_of("zipf:10"), 10.0);
  EXPECT_EQ(exponent_of("zipf:5e-1"), 0.5);
  EXPECT_EQ(exponent_of("skew:36"), 0.924);
  EXPECT_EQ(exponent_of("skew:10"), 1.029);
  EXPECT_EQ(exponent_of("skew:0.6"), 1.130);
}

TEST(ParseSynthetic, RefusesAnythingElseInOneLineThatHelps) {
  for (const std::string name :
       {"",         " ",          "Click",   "clicks",   "click:",     "click:huge", "click ",
        "uniform:", "uniform:1",  "zipf",    "zipf:",    "zipf:0",     "zipf:-1",    "zipf:nan",
        "zipf:inf", "zipf:1.05x", "zipf: 1", "zipf:+1",  "zipf:1e400", "zipf:10.1",  "zipf:0x1",
        "skew",     "skew:",      "skew:11", "skew:36%", "skew:0.60"}) {
    try {
      parse_synthetic(name);
      ADD_FAILURE() << "accepted '" << name << "'";
    } catch (const UserError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("'" + name + "'"), std::string::npos) << message;
      EXPECT_NE(message.find("click:large"), std::string::npos) << message;
      EXPECT_NE(message.find("zipf:1.05"), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace lazydp
