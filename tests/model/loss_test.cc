#include "lazydp/model/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lazydp {
namespace {

TEST(LogLoss, IsTheDefinitionWhereThatCanBeComputed) {
  for (const float logit : {-8.0f, -1.5f, -0.1f, 0.0f, 0.3f, 2.0f, 9.0f}) {
    const double p = 1.0 / (1.0 + std::exp(-static_cast<double>(logit)));
    EXPECT_NEAR(log_loss(logit, 1.0f), -std::log(p), 1e-6);
    EXPECT_NEAR(log_loss(logit, 0.0f), -std::log(1.0 - p), 1e-6);
    EXPECT_NEAR(sigmoid(logit), p, 1e-12);
    EXPECT_NEAR(log_loss_gradient(logit, 1.0f), p - 1.0, 1e-6);
    EXPECT_NEAR(log_loss_gradient(logit, 0.0f), p, 1e-6);
  }
}

TEST(LogLoss, IsStableForEveryFiniteLogit) {
  for (const float size : {100.0f, 1e4f, std::numeric_limits<float>::max()}) {
    EXPECT_EQ(log_loss(size, 0.0f), size);
    EXPECT_EQ(log_loss(-size, 1.0f), size);
    EXPECT_NEAR(log_loss(size, 1.0f), 0.0f, 1e-40f);
    EXPECT_NEAR(log_loss(-size, 0.0f), 0.0f, 1e-40f);
    EXPECT_EQ(log_loss_gradient(size, 0.0f), 1.0f);
    EXPECT_EQ(log_loss_gradient(-size, 1.0f), -1.0f);
    EXPECT_NEAR(log_loss_gradient(size, 1.0f), 0.0f, 1e-40f);
    EXPECT_NEAR(log_loss_gradient(-size, 0.0f), 0.0f, 1e-40f);
  }
}

TEST(LogLoss, KeepsTheSmallGradientOfAConfidentExample) {
  EXPECT_NEAR(log_loss_gradient(20.0f, 1.0f), -2.0611536e-9, 1e-14);
  EXPECT_NEAR(log_loss_gradient(-20.0f, 0.0f), 2.0611536e-9, 1e-14);
}

TEST(LogLoss, LetsANanThrough) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float label : {0.0f, 1.0f}) {
    EXPECT_TRUE(std::isnan(log_loss(nan, label)));
    EXPECT_TRUE(std::isnan(log_loss_gradient(nan, label)));
  }
}

}  // namespace
}  // namespace lazydp
