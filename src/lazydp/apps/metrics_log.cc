#include "lazydp/apps/metrics_log.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "lazydp/base/atomic_file.h"
#include "lazydp/base/error.h"

namespace lazydp::apps {
namespace {

// Lines of steps up to `from`.
std::string lines_through(const std::string& path, Step from) {
  std::ifstream file(path);
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.value("step", Step{0}) <= from) kept += line + "\n";
  }
  return kept;
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

}  // namespace

MetricsLog::MetricsLog(const std::string& path, Step from, Step steps)
    : path_(path), every_(std::max<Step>(1, steps / 1000)) {
  const std::string kept = lines_through(path, from);
  AtomicFile file(path, 0600);
  file.write(std::as_bytes(std::span(kept)));
  file.commit();
  file_.open(path, std::ios::app);
}

void MetricsLog::step(const StepReport& report) {
  if (report.step % every_ != 0) return;
  double seconds = 0.0;
  for (const double stage : report.seconds) seconds += stage;
  write({{"step", report.step},
         {"loss", number(report.mean_loss)},
         {"examples", report.examples},
         {"step_ms", seconds * 1e3}});
}

void MetricsLog::evaluation(Step step, const Metrics& metrics) {
  write({{"step", step}, {"auc", number(metrics.auc)}, {"logloss", number(metrics.logloss)}});
}

void MetricsLog::write(const Json& line) {
  file_ << line.dump() << "\n" << std::flush;
  if (!file_) throw IoError("cannot write " + path_ + ": " + std::strerror(errno));
}

}  // namespace lazydp::apps
