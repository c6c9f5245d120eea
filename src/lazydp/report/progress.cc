#include "lazydp/report/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "lazydp/base/text/number_text.h"

namespace lazydp {
namespace {

constexpr double kRedraw = 0.1;  // seconds between two redraws of the live line
constexpr Step kLines = 10;      // lines of a run that is not on a terminal
constexpr double kEpsilonEvery = 1.0;

std::size_t terminal_width() {
  winsize size{};
  constexpr std::size_t kUsual = 80;
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

}  // namespace

Progress::Style Progress::style(bool quiet) {
  if (quiet) return Style::none;
  return isatty(STDERR_FILENO) != 0 ? Style::live : Style::lines;
}

Progress Progress::of_part(const std::string& where) const {
  Progress part(style_ == Style::live ? Style::live : Style::none, *out_);
  part.part_ = true;
  part.where_ = where + "  ";
  return part;
}

void Progress::begin(const std::string& what, Step steps, Step done) {
  Progress begun(style_, *out_);
  begun.part_ = part_;
  begun.where_ = where_;
  *this = begun;
  what_ = where_ + what;
  steps_ = steps;
  before_ = drawn_step_ = done;
}

void Progress::step(const StepReport& report, const Epsilon& epsilon) {
  if (style_ == Style::none) return;
  examples_ += static_cast<double>(report.examples);
  if (std::isfinite(report.mean_loss)) {
    loss_sum_ += report.mean_loss;
    loss_steps_ += 1.0;
  }
  if (!due(report.step)) return;
  epsilon_ = epsilon_now(epsilon);
  draw(line(report.step));
  drawn_at_ = since_start();
  drawn_step_ = report.step;
  loss_sum_ = loss_steps_ = 0.0;
}

bool Progress::due(Step step) const {
  if (step == steps_) return true;
  if (style_ == Style::live) return since_start() - drawn_at_ >= kRedraw;
  const auto tenth = [this](Step s) { return std::uint64_t{s} * kLines / steps_; };
  return tenth(step) > tenth(drawn_step_);
}

// Accounting for a long schedule may be slow: it gets a twentieth of the time at most.
std::optional<double> Progress::epsilon_now(const Epsilon& epsilon) {
  const double before = since_start();
  if (style_ == Style::live && before < epsilon_again_) return epsilon_;
  const std::optional<double> value = epsilon();
  const double after = since_start();
  epsilon_again_ = after + std::max(kEpsilonEvery, 20.0 * (after - before));
  return value;
}

// Puts the most important numbers first: a narrow terminal shows only what fits.
std::string Progress::line(Step step) const {
  const double seconds = std::max(since_start(), 1e-9);
  std::string text = what_ + "  step " + with_commas(step) + "/" + with_commas(steps_);
  text += step < steps_
              ? "  " + human_duration(seconds / (step - before_) * (steps_ - step)) + " left"
              : "  in " + human_duration(seconds);
  if (loss_steps_ > 0.0) text += "  loss " + fixed(loss_sum_ / loss_steps_, 4);
  if (auc_) text += "  AUC " + fixed(*auc_, 4);
  if (epsilon_) text += "  epsilon " + fixed_up(*epsilon_, 2) + " if released now";
  return text + "  " + with_commas(examples_ / seconds) + " examples/s";
}

void Progress::evaluated(Step step, const Metrics& metrics) {
  auc_ = std::isnan(metrics.auc) ? std::nullopt : std::optional(metrics.auc);
  say("  step " + with_commas(step) + ": held-out AUC " + fixed(metrics.auc, 4) +
      (std::isnan(metrics.gauc)
           ? ""
           : ", GAUC " + fixed(metrics.gauc, 4) + ", NDCG@" + std::to_string(metrics.cutoff) + " " +
                 fixed(metrics.ndcg, 4)) +
      ", log-loss " + fixed(metrics.logloss, 4) + ", normalised entropy " +
      fixed(metrics.normalised_entropy, 4) + ", calibration " + fixed(metrics.calibration, 3));
}

void Progress::settled(std::uint64_t rows, std::uint64_t of) {
  if (style_ == Style::none) return;
  const bool last = rows == of;
  if (!last && (style_ == Style::lines || since_start() - drawn_at_ < kRedraw)) return;
  draw(what_ + "  settled " + with_commas(static_cast<double>(rows)) + " of " +
       with_commas(static_cast<double>(of)) + " rows");
  drawn_at_ = since_start();
}

void Progress::say(const std::string& line) {
  if (style_ == Style::none || part_) return;
  *out_ << (style_ == Style::live ? "\r\033[K" : "") << line << "\n" << std::flush;
}

void Progress::end() {
  if (style_ == Style::live) *out_ << "\r\033[K" << std::flush;
}

void Progress::draw(const std::string& line) {
  if (style_ == Style::live) {
    *out_ << "\r" << line.substr(0, terminal_width() - 1) << "\033[K" << std::flush;
  } else {
    *out_ << line << "\n" << std::flush;
  }
}

}  // namespace lazydp
