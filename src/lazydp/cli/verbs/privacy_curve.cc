// lazydp privacy curve: prints epsilon over the steps of a run, as a table, numbers or a chart.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/privacy_limits.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/verbs/privacy_question.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/report/chart.h"
#include "lazydp/train/correlation_text.h"

namespace lazydp::cli {

namespace {

struct EpsilonAt {
  std::uint64_t steps;
  double epsilon;
};

struct EpsilonCurve {
  std::string_view accountant;
  std::vector<EpsilonAt> points;  // at least one
};

std::string note_of(const PrivacyQuestion& question) {
  const std::string noise = ", noise multiplier " + shortest(question.noise_multiplier);
  if (!question.block) {
    return "Poisson sampling rate " + shortest(question.sampling_rate) + noise +
           "; add or remove one example";
  }
  return std::string(block_sampling_name(question.block->sampling)) + ", correlation " +
         text_of(Correlation(question.block->bands)) + noise + "; one example's line is blank";
}

// Leaves out infinite points. `question` describes the mechanism; its steps end the axis.
std::string curve_svg(const PrivacyQuestion& question, const std::vector<EpsilonCurve>& curves) {
  LineChart chart{
      .head = {.title = "Privacy spent over training, at δ = " + shortest(question.delta),
               .note = note_of(question)},
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

constexpr int kPoints = 24;

// Returns steps that include the first and the last, closer together where the curve bends: at the
// beginning.
std::vector<std::uint64_t> steps_to_show(std::uint64_t last) {
  std::set<std::uint64_t> steps = {1, last};
  for (int i = 1; i < kPoints; ++i) {
    const double part = static_cast<double>(i) / kPoints;
    const auto step = static_cast<std::uint64_t>(part * part * static_cast<double>(last));
    steps.insert(std::max<std::uint64_t>(1, step));
  }
  return {steps.begin(), steps.end()};
}

std::vector<EpsilonCurve> curves_of(PrivacyQuestion question) {
  const std::vector<std::uint64_t> steps = steps_to_show(question.steps);
  std::vector<EpsilonCurve> curves;
  for (const Accountant accountant : question.accountants) {
    EpsilonCurve& curve = curves.emplace_back();
    curve.accountant = accountant_name(accountant);
    for (const std::uint64_t s : steps) {
      question.steps = s;
      curve.points.push_back({s, epsilon(question.ledger(), question.delta, accountant)});
    }
  }
  return curves;
}

std::string epsilon_text(double epsilon) {
  return std::isfinite(epsilon) ? rounded_up(epsilon, 5) : "infinite";
}

void print_table(std::ostream& out, const PrivacyQuestion& question,
                 const std::vector<EpsilonCurve>& curves) {
  constexpr int kColumn = 16;
  out << "epsilon at delta " << shortest(question.delta) << ": " << mechanism_in_words(question)
      << ".\n"
      << std::setw(kColumn) << "steps";
  for (const EpsilonCurve& curve : curves) out << std::setw(kColumn) << curve.accountant;
  out << "\n";
  for (std::size_t i = 0; i < curves.front().points.size(); ++i) {
    out << std::setw(kColumn) << with_commas(static_cast<double>(curves.front().points[i].steps));
    for (const EpsilonCurve& curve : curves) {
      out << std::setw(kColumn) << epsilon_text(curve.points[i].epsilon);
    }
    out << "\n";
  }
}

Json json_of(const PrivacyQuestion& question, const std::vector<EpsilonCurve>& curves) {
  Json list = Json::array();
  for (const EpsilonCurve& curve : curves) {
    Json points = Json::array();
    for (const EpsilonAt& point : curve.points) {
      points.push_back({{"steps", point.steps},
                        {"epsilon", std::isfinite(point.epsilon) ? Json(point.epsilon) : Json()}});
    }
    list.push_back({{"accountant", curve.accountant}, {"points", points}});
  }
  Json json = {{"delta", question.delta}};
  json.update(json_of_mechanism(question));
  json["curves"] = list;
  return json;
}

}  // namespace

void privacy_curve(const FlagTexts& given) {
  FlagTexts asked = given;
  if (!asked.accountant) asked.accountant = "both";
  const PrivacyQuestion question = choose_question(asked, Unknown::epsilon);
  if (question.steps == 0) refuse("steps", "0", "1 or more to draw a curve");
  if (given.svg && question.noise_multiplier == 0.0) {
    refuse("noise-multiplier", "0", "positive for a picture: without noise epsilon is infinite");
  }
  const Output output(given);
  std::optional<OutputFile> picture;
  if (given.svg) picture.emplace(*given.svg);

  const std::vector<EpsilonCurve> curves = curves_of(question);
  warn_of_large_epsilon(curves.front().points.back().epsilon);
  const bool room = !picture || !picture->is_standard_output();
  if (std::ostream* out = output.report(); out != nullptr && room) {
    print_table(*out, question, curves);
  }
  output.write(json_of(question, curves));
  if (picture) picture->write(curve_svg(question, curves));
}

}  // namespace lazydp::cli
