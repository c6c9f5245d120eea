#include "lazydp/cli/run/training_health.h"

#include <algorithm>
#include <cmath>

#include "lazydp/base/text/number_text.h"

namespace lazydp::cli {
namespace {

// Losses of single batches vary, and a private model may end a little above where it began.
constexpr double kWellAbove = 1.1;

// A model with short steps is calibrated unless many gradients of one label are clipped.
bool clipping_shows(double calibration) {
  constexpr double kFar = 1.5;
  return calibration > kFar || calibration < 1.0 / kFar;
}

std::string smaller_rates() {
  return "the steps are too long for this data: try half of --lr and --dense-lr";
}

}  // namespace

LossWatch::LossWatch(Step last, Step done)
    : first_steps_(std::max<Step>(1, last / 100)),
      window_(std::max<Step>(1, last / 40)),
      known_(done == 0) {}

std::optional<std::string> LossWatch::add(const StepReport& report) {
  if (!known_ || std::isnan(report.mean_loss)) return std::nullopt;
  if (report.step <= first_steps_) {
    first_.sum += report.mean_loss;
    ++first_.count;
    return std::nullopt;
  }
  recent_.sum += report.mean_loss;
  ++recent_.count;
  if (recent_.count < window_) return std::nullopt;
  const double recent = recent_.value();
  recent_ = {};
  if (warned_ || first_.count == 0.0 || !(recent > kWellAbove * first_.value())) {
    return std::nullopt;
  }
  warned_ = true;
  return "careful: the training loss is " + fixed(recent, 4) + " after step " +
         with_commas(report.step) + ", and was " + fixed(first_.value(), 4) + " at first; " +
         smaller_rates();
}

std::optional<double> LossWatch::first() const {
  if (!known_ || first_.count == 0.0) return std::nullopt;
  return first_.value();
}

std::vector<std::string> signs_of_trouble(const RunOptions& options, const RunResult& result) {
  constexpr double kFew = 16;
  constexpr double kNearHalf = 0.02;
  std::vector<std::string> signs;
  if (!options.task.learnable()) return signs;
  const Metrics& held_out = result.held_out;
  const bool clipped = options.plan.recipe.clips() && clipping_shows(held_out.calibration);
  if (clipped) {
    signs.push_back("the model expects " + fixed(held_out.calibration, 2) +
                    " of the positives that there are: clipping shortens the long gradients of the "
                    "rarer label more than others; " +
                    (options.plan.calibrates_scores
                         ? "the held-out part is unlike the part that was trained on, or a larger "
                           "--clip-norm than " +
                               shortest(options.plan.mechanism.clip_norm) + " would help"
                         : std::string("--calibrate on would mend it")));
  }
  if (result.first_loss && result.loss > *result.first_loss) {
    signs.push_back("the training loss ended at " + fixed(result.loss, 4) + ", above the " +
                    fixed(*result.first_loss, 4) + " it began with" +
                    (clipped ? std::string() : "; " + smaller_rates()));
  }
  if (held_out.examples > 0 && held_out.normalised_entropy > 1.0) {
    signs.push_back("the normalised entropy is " + fixed(held_out.normalised_entropy, 4) +
                    ": always saying the share of positives would do better on the held-out part");
  }
  if (held_out.examples > 0 && std::abs(held_out.auc - 0.5) < kNearHalf) {
    signs.push_back("the held-out AUC is " + fixed(held_out.auc, 4) +
                    ", that of guessing: the model has learned nothing that helps; more data, a "
                    "larger epsilon or fewer rows would");
  }
  const bool units = options.task.file && options.task.file->units;
  if (options.plan.recipe.clips() && options.plan.mechanism.expected_batch < kFew) {
    signs.push_back("a step expects " + shortest(options.plan.mechanism.expected_batch) +
                    (units ? " units" : " examples") +
                    ": so few hardly show beside the noise of a step; a larger --batch would");
  }
  return signs;
}

}  // namespace lazydp::cli
