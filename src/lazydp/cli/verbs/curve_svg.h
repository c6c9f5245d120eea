#pragma once
// Epsilon over steps as a picture: one self-contained SVG file.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/cli/verbs/privacy_question.h"

namespace lazydp::cli {

struct EpsilonAt {
  std::uint64_t steps;
  double epsilon;
};

struct EpsilonCurve {
  std::string_view accountant;
  std::vector<EpsilonAt> points;  // at least one
};

// Infinite points are left out. `question` says what the mechanism is; its steps end the axis.
std::string curve_svg(const PrivacyQuestion& question, const std::vector<EpsilonCurve>& curves);

}  // namespace lazydp::cli
