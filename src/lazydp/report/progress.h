#pragma once
// Progress of a run: one line that changes on a terminal, a few lines elsewhere.

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "lazydp/base/stages.h"
#include "lazydp/base/types.h"
#include "lazydp/train/metrics.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// Losses and metrics come from private data: only a reader of the data may see them.
class Progress {
 public:
  enum class Style : std::uint8_t { none, lines, live };

  // Returns the style for standard error.
  static Style style(bool quiet);

  Progress(Style style, std::ostream& out) : style_(style), out_(&out) {}

  // Returns the progress of a part of the work: one line on a terminal, which begins with `where`,
  // and nothing elsewhere.
  Progress of_part(const std::string& where) const;

  // Starts a run of `steps` steps, of which `done` were done earlier; its lines begin with `what`.
  void begin(const std::string& what, Step steps, Step done = 0);

  // Returns the epsilon of the model if it were released now, none for no claim.
  using Epsilon = std::function<std::optional<double>()>;

  // Called after every step. `epsilon` is called when it is shown, on a terminal at most once a
  // second.
  void step(const StepReport& report, const Epsilon& epsilon);

  // Writes a permanent line; later lines of the run repeat its AUC.
  void evaluated(Step step, const Metrics& metrics);

  // Writes how many of all rows were settled at the end.
  void settled(std::uint64_t rows, std::uint64_t of);

  // Writes a permanent line.
  void say(const std::string& line);

  // Leaves the terminal at the start of an empty line.
  void end();

 private:
  bool due(Step step) const;
  std::optional<double> epsilon_now(const Epsilon& epsilon);
  std::string line(Step step) const;
  void draw(const std::string& line);
  double since_start() const { return watch_.seconds(); }

  Style style_;
  std::ostream* out_;
  bool part_ = false;  // of some work, whose progress says the rest
  std::string where_;
  std::string what_;
  Step steps_ = 0;
  Step before_ = 0;  // steps of earlier sessions
  Stopwatch watch_;
  double drawn_at_ = 0.0;  // seconds since the start
  Step drawn_step_ = 0;
  double examples_ = 0.0;
  double loss_sum_ = 0.0;  // sum over the steps since the last line
  double loss_steps_ = 0.0;
  std::optional<double> auc_;
  std::optional<double> epsilon_;
  double epsilon_again_ = 0.0;  // when it may be computed again
};

}  // namespace lazydp
