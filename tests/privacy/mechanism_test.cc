#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/privacy/ledger.h"

namespace lazydp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// Returns the error of validate(), or nothing.
std::string complaint(const Mechanism& mechanism) {
  try {
    mechanism.validate();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Mechanism, OrdinaryValuesAreAllowed) {
  EXPECT_EQ(complaint({0.01, 1.0, 1.1, 1024}), "");
  EXPECT_EQ(complaint({1.0, 0.4, 0.0, 1}), "");
}

TEST(Mechanism, NoClippingIsAllowedOnlyWithoutNoise) {
  EXPECT_EQ(complaint({0.01, kInfinity, 0.0, 1024}), "");
  const std::string refusal = complaint({0.01, kInfinity, 1.0, 1024});
  EXPECT_NE(refusal.find("clip_norm is inf"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("sigma > 0 with infinite C is refused"), std::string::npos) << refusal;
}

TEST(Mechanism, ARefusalNamesTheFieldTheValueAndWhatIsAllowed) {
  EXPECT_EQ(complaint({0.01, -1, 1.0, 1024}),
            "clip_norm is -1; it must be positive, for example 1.0");
  EXPECT_EQ(complaint({1.5, 1.0, 1.0, 1024}),
            "sampling_rate is 1.5; it must be above 0 and at most 1, for example 0.01");
}

TEST(Mechanism, ValuesOutOfRangeAreRefusedByName) {
  for (const double bad : {0.0, -0.1, 1.0001, kInfinity, kNotANumber}) {
    EXPECT_EQ(complaint({bad, 1, 1, 1}).rfind("sampling_rate is", 0), 0U) << bad;
  }
  for (const double bad : {0.0, -1.0, -kInfinity, kNotANumber}) {
    EXPECT_EQ(complaint({0.1, bad, 1, 1}).rfind("clip_norm is", 0), 0U) << bad;
  }
  for (const double bad : {-1.0, kInfinity, kNotANumber}) {
    EXPECT_EQ(complaint({0.1, 1, bad, 1}).rfind("noise_multiplier is", 0), 0U) << bad;
  }
  for (const double bad : {0.0, -1.0, kInfinity, kNotANumber}) {
    EXPECT_EQ(complaint({0.1, 1, 1, bad}).rfind("expected_batch is", 0), 0U) << bad;
  }
}

}  // namespace
}  // namespace lazydp
