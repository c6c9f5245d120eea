#include "lazydp/apps/interleave.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "lazydp/apps/number_text.h"
#include "lazydp/apps/run_options.h"
#include "lazydp/apps/session.h"
#include "lazydp/base/energy.h"
#include "lazydp/train/aging.h"

namespace lazydp::apps {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// What this process has taken of the machine since the meter was made.
class Meter {
 public:
  Spent since() const {
    return {.cpu_seconds = cpu_seconds() - cpu_seconds_,
            .joules = energy_counters().joules_since(energy_)};
  }

 private:
  double cpu_seconds_ = cpu_seconds();
  EnergyCounters energy_ = energy_counters();
};

struct Contender {
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Trainer> trainer;
  Measured measured;
};

// Brings a contender's rows to the lateness of a long run, where rows wait at all.
double age(Trainer& trainer, const BenchOptions& options, const Session& session) {
  if (trainer.updates().history(0) == nullptr) return kNone;
  const auto lookups = static_cast<double>(options.batch * options.model.shape.pooling);
  return pre_age(trainer, session.tables, std::get<AccessLaw>(options.task.what), lookups);
}

// Batches come from a seed of its own: rows that another contender has just read would be in the
// cache.
Contender make_contender(const BenchOptions& options, const Task& task, const Recipe& recipe,
                         const Seed& seed, std::uint64_t number, Session& session) {
  const Plan plan = options.plan(recipe);
  Contender contender;
  contender.sampler =
      make_sampler(Sampling::shuffled, Seed::fixed(options.seed.value_or(0) + number),
                   task.train->size(), plan.mechanism.sampling_rate, options.batch);
  contender.trainer = std::make_unique<Trainer>(plan, options.performance, seed, session.model,
                                                options.model.shape.mode, session.tables,
                                                *task.train, *contender.sampler);
  contender.measured.recipe = recipe;
  contender.measured.history_bytes = contender.trainer->updates().bytes();
  contender.measured.lateness = age(*contender.trainer, options, session);
  return contender;
}

// The order of round r: rotated by one each time, and turned round after every full turn, so that
// nobody always comes after the same neighbour.
std::vector<std::size_t> order_of(Step round, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(round % count),
              order.end());
  if (round / count % 2 == 1) std::ranges::reverse(order);
  return order;
}

}  // namespace

std::vector<Measured> interleave(const BenchOptions& options, const Task& task,
                                 Progress& progress) {
  progress.say("preparing " + human_bytes(static_cast<double>(options.model.shape.table_bytes())) +
               " of tables, and histories as late as in a long run ...");
  const Seed seed = make_seed(options.seed);
  Session session(options.model.shape, seed);
  std::vector<Contender> contenders;
  for (std::size_t i = 0; i < options.contenders.size(); ++i) {
    contenders.push_back(make_contender(options, task, options.contenders[i], seed, i, session));
  }
  const Step rounds = options.warmup + options.rounds;
  progress.begin("bench", rounds);
  for (Step round = 1; round <= rounds; ++round) {
    StepReport of_round;
    of_round.step = round;
    of_round.mean_loss = kNone;
    for (const std::size_t i : order_of(round, contenders.size())) {
      Measured& measured = contenders[i].measured;
      const Meter meter;
      const StepReport& report = contenders[i].trainer->step();
      of_round.examples += report.examples;
      if (round <= options.warmup) continue;
      measured.spent += meter.since();
      measured.times.add(report);
    }
    progress.step(of_round, [] { return kNone; });
  }
  progress.end();

  std::vector<Measured> measured;
  measured.reserve(contenders.size());
  for (Contender& contender : contenders) measured.push_back(std::move(contender.measured));
  return measured;
}

}  // namespace lazydp::apps
