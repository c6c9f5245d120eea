// The three functions for C fail with a message; tests/checks/installed_library.sh compares scores.

#include "lazydp/engine/served_model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace lazydp {
namespace {

TEST(ServedModel, SaysWhyItCannotBeOpenedInTheRoomThereIs) {
  char error[200] = "";
  EXPECT_EQ(lazydp_load("/nowhere/model", error, sizeof error), nullptr);
  const std::string whole = error;
  EXPECT_NE(whole.find("/nowhere/model"), std::string::npos) << whole;
  char little[8] = "1234567";
  EXPECT_EQ(lazydp_load("/nowhere/model", little, sizeof little), nullptr);
  EXPECT_EQ(little, whole.substr(0, 7));
  EXPECT_EQ(lazydp_load("/nowhere/model", nullptr, 0), nullptr);
  lazydp_free(nullptr);
}

}  // namespace
}  // namespace lazydp
