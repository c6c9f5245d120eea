// Checks that LazyDP without ANS ends where DP-SGD(F) ends, and that LazyDP's noise has the right
// law.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/tiny_run.h"
#include "lazydp/report/chart.h"

namespace lazydp::paper {
namespace {

ModelShape tiny_shape(std::uint64_t rows) {
  return {.name = "tiny",
          .table_rows = std::vector<RowId>(4, static_cast<RowId>(rows)),
          .dim = 16,
          .bottom = {13, 64, 16},
          .top = {64, 1},
          .pooling = 2};
}

double largest_difference(TinyRun& a, TinyRun& b) {
  double most = 0.0;
  const auto look = [&](std::span<const float> x, std::span<const float> y) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
    }
  };
  look(a.model_and_tables.model->parameters(), b.model_and_tables.model->parameters());
  for (std::size_t k = 0; k < a.model_and_tables.tables.size(); ++k) {
    for (RowId row = 0; row < a.model_and_tables.tables[k].rows(); ++row) {
      look(a.model_and_tables.tables[k].row(row), b.model_and_tables.tables[k].row(row));
    }
  }
  return most;
}

// So much noise that gradients are negligible beside it: whatever is read when, every weight of
// every row has then moved by a normal of variance steps x (rate x sigma x C / batch)^2.
constexpr double kLoud = 1e4;

struct Moves {
  std::vector<double> of_read;    // in standard deviations
  std::vector<double> of_unread;  // rows that no batch looked up
};

Moves moves_of(const TinyRun& run) {
  const TinySetting& s = run.setting;
  const double std = s.rate * s.noise_multiplier * kClipNorm / static_cast<double>(s.batch) *
                     std::sqrt(static_cast<double>(s.steps));
  Moves moves;
  for (std::size_t k = 0; k < run.model_and_tables.tables.size(); ++k) {
    const Table before = run.initial_table(k);
    const Table& after = run.model_and_tables.tables[k];
    for (RowId row = 0; row < after.rows(); ++row) {
      const bool read = run.read[k][static_cast<std::size_t>(row)];
      std::vector<double>& values = read ? moves.of_read : moves.of_unread;
      for (std::size_t i = 0; i < after.dim(); ++i) {
        values.push_back((static_cast<double>(after.row(row)[i]) - before.row(row)[i]) / std);
      }
    }
  }
  return moves;
}

double variance_of(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0) /
         static_cast<double>(values.size());
}

ChartLine density_of(const std::string& name, const std::vector<double>& values) {
  constexpr double kEdge = 4.0, kWidth = 0.25;
  constexpr auto kBins = static_cast<std::size_t>(2 * kEdge / kWidth);
  std::vector<double> counts(kBins, 0.0);
  for (const double value : values) {
    const double place = (value + kEdge) / kWidth;
    if (place >= 0.0 && place < static_cast<double>(kBins)) {
      counts[static_cast<std::size_t>(place)] += 1.0;
    }
  }
  ChartLine line;
  line.name = name;
  for (std::size_t i = 0; i < kBins; ++i) {
    line.points.push_back({.x = -kEdge + kWidth * (static_cast<double>(i) + 0.5),
                           .y = counts[i] / static_cast<double>(values.size()) / kWidth});
  }
  return line;
}

ChartLine normal_density() {
  ChartLine line;
  line.name = "normal";
  for (double x = -4.0; x <= 4.0; x += 0.1) {
    line.points.push_back(
        {.x = x, .y = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi)});
  }
  return line;
}

}  // namespace

Findings equivalence(Measurer& measurer) {
  Findings findings;
  findings.sheet.columns = {"what", "algorithm", "value", "probability", "standing"};
  const std::string measured(name_of(Standing::measured));
  TinySetting setting{.shape = tiny_shape(measurer.scale().law_rows),
                      .synthetic = "skew:10",
                      .seed = measurer.seed() + 1};

  measurer.progress().say("  comparing weights of LazyDP without ANS and of DP-SGD(F)");
  TinyRun eager(setting, "dpsgd-f");
  TinyRun late(setting, "lazydp-no-ans");
  TinyRun aggregated(setting, "lazydp");
  const double difference = largest_difference(eager, late);
  const double other = largest_difference(eager, aggregated);
  findings.sheet.add({"largest difference of a parameter to dpsgd-f", "lazydp-no-ans",
                      cell(difference), "", measured});
  findings.sheet.add(
      {"largest difference of a parameter to dpsgd-f", "lazydp", cell(other), "", measured});

  LineChart chart = empty_lines(
      "What noise does to weights in " + std::to_string(setting.steps) + " steps",
      "in standard deviations of eager DP-SGD's noise", "standard deviations", "density");
  chart.x.from_zero = false;
  chart.lines.push_back(normal_density());
  setting.noise_multiplier = kLoud;
  setting.rate /= 1e3;
  std::string told;
  double least_probability = 1.0;
  for (const std::string_view name : {"dpsgd-f", "lazydp"}) {
    measurer.progress().say("  testing the law of " + std::string(name) + "'s noise");
    const Moves moves = moves_of(TinyRun(setting, name));
    for (const auto& [rows, values] : {std::pair{"rows that were read", &moves.of_read},
                                       std::pair{"rows that were never read", &moves.of_unread}}) {
      const KolmogorovTest test = against_normal(*values);
      const std::string what = std::string("weights of ") + rows;
      findings.sheet.add(
          {what + ": variance", std::string(name), cell(variance_of(*values)), "", measured});
      findings.sheet.add({what + ": Kolmogorov-Smirnov distance to normal", std::string(name),
                          cell(test.distance), cell(test.probability), measured});
      if (name != "lazydp") continue;
      least_probability = std::min(least_probability, test.probability);
      told += (told.empty() ? "" : ", ") + fixed(variance_of(*values), 4) + " (" + rows + ", p " +
              fixed(test.probability, 2) + ")";
    }
    chart.lines.push_back(density_of(std::string(name) + ", read", moves.of_read));
    chart.lines.push_back(density_of(std::string(name) + ", never read", moves.of_unread));
  }
  findings.pictures.push_back({"", svg_of(chart)});
  findings.comparisons = {
      {"largest difference of a parameter, LazyDP without ANS and DP-SGD(F)",
       "mathematically equivalent",
       difference == 0.0 ? "0: bit for bit the same" : shortest(difference),
       "the same noises, drawn later; at most float rounding. LazyDP itself draws others of the "
       "same "
       "law: " +
           shortest(other)},
      {"variance of LazyDP's noise over DP-SGD's, and Kolmogorov-Smirnov's p",
       "the same distribution", told,
       least_probability < 1e-6
           ? "NOT the same distribution"
           : "the same distribution, as far as " +
                 with_commas(4.0 * 16.0 * static_cast<double>(measurer.scale().law_rows)) +
                 " weights can tell"}};
  return findings;
}

}  // namespace lazydp::paper
