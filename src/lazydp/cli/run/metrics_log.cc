#include "lazydp/cli/run/metrics_log.h"

#include <algorithm>
#include <limits>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"

namespace lazydp::cli {

namespace {

constexpr std::string_view kEpsilonScalar = "privacy/epsilon_if_released";

std::string lines_through(const std::string& path, Step from) {
  std::string kept;
  for (const Json& line : read_metrics_log(path)) {
    if (line.at("step").get<Step>() <= from) kept += line.dump() + "\n";
  }
  return kept;
}

bool names_a_step(const Json& line) {
  const auto step = line.find("step");
  return step != line.end() && step->is_number_unsigned() &&
         step->get<std::uint64_t>() <= std::numeric_limits<Step>::max();
}

}  // namespace

std::vector<Json> read_metrics_log(const std::string& path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    Json json = Json::parse(line, nullptr, false);
    if (json.is_discarded() && file.eof()) break;  // the program ended within a line
    if (!json.is_object() || !names_a_step(json)) {
      throw IoError(path + " is damaged: line " + std::to_string(number) +
                    " has no whole number as its step; remove the line or the file");
    }
    lines.push_back(std::move(json));
  }
  return lines;
}

MetricsLog::MetricsLog(const std::string& path, const std::string& events, Step from, Step steps)
    : path_(path), every_(std::max<Step>(1, steps / 1000)), events_(events, from + 1) {
  write_text(path, lines_through(path, from), kOwnerFile);
  file_.open(path, std::ios::app);
}

void MetricsLog::step(const StepReport& report, std::optional<double> epsilon) {
  if (report.step % every_ != 0 && !epsilon) return;
  double seconds = 0.0;
  for (const double stage : report.seconds) seconds += stage;
  const double speed = static_cast<double>(report.examples) / std::max(seconds, 1e-9);
  Json line = {{"step", report.step},
               {"loss", finite_or_null(report.mean_loss)},
               {"examples", report.examples},
               {"step_ms", seconds * 1e3},
               {"examples_per_second", speed}};
  if (epsilon) line["epsilon"] = *epsilon;
  write(line);
  Scalars scalars = {{"train/loss", report.mean_loss},
                     {"speed/step_ms", seconds * 1e3},
                     {"speed/examples_per_second", speed}};
  if (epsilon) scalars.emplace_back(kEpsilonScalar, *epsilon);
  events_.write(report.step, scalars);
}

void MetricsLog::evaluation(Step step, const Metrics& metrics, const char* on,
                            std::optional<double> epsilon) {
  Json line = {{"step", step}, {"evaluated_on", on}};
  const Json values = json_of(metrics);
  for (const auto& [name, value] : values.items()) {
    line[name == "examples" ? "evaluated_examples" : name] = value;
  }
  if (epsilon) line["epsilon"] = *epsilon;
  write(line);
  const std::string part(on);
  const std::string auc = part + "/auc", gauc = part + "/gauc", ndcg = part + "/ndcg",
                    recall = part + "/recall", logloss = part + "/logloss",
                    entropy = part + "/normalised_entropy", calibration = part + "/calibration";
  Scalars scalars = {{auc, metrics.auc},
                     {gauc, metrics.gauc},
                     {ndcg, metrics.ndcg},
                     {recall, metrics.recall},
                     {logloss, metrics.logloss},
                     {entropy, metrics.normalised_entropy},
                     {calibration, metrics.calibration}};
  if (epsilon) scalars.emplace_back(kEpsilonScalar, *epsilon);
  events_.write(step, scalars);
}

void MetricsLog::write(const Json& line) {
  file_ << line.dump() << "\n" << std::flush;
  if (!file_) throw system_failure("cannot write " + path_);
}

}  // namespace lazydp::cli
