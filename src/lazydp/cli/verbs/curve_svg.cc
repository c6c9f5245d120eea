#include "lazydp/cli/verbs/curve_svg.h"

#include "lazydp/report/chart.h"
#include "lazydp/report/number_text.h"

namespace lazydp::cli {

std::string curve_svg(const PrivacyQuestion& question, const std::vector<EpsilonCurve>& curves) {
  LineChart chart{
      .head = {.title = "Privacy spent over training, at δ = " + shortest(question.delta),
               .note = "Poisson sampling rate " + shortest(question.sampling_rate) +
                       ", noise multiplier " + shortest(question.noise_multiplier) +
                       "; add or remove one example"},
      .x = {.name = "steps"},
      .y = {.name = "ε"}};
  for (const EpsilonCurve& curve : curves) {
    const std::string name(curve.accountant);
    ChartLine& line = chart.lines.emplace_back(
        ChartLine{.name = name + " " + rounded_up(curve.points.back().epsilon, 4)});
    for (const auto& [steps, epsilon] : curve.points) {
      line.points.push_back({.x = static_cast<double>(steps), .y = epsilon});
    }
  }
  return svg_of(chart);
}

}  // namespace lazydp::cli
