#include "lazydp/bench/contender.h"

#include "lazydp/bench/steady_state.h"

namespace lazydp {
namespace {

// Brings a contender's rows to the lateness of a long run, where rows wait at all.
double age(Trainer& trainer, const BenchOptions& options, const Session& session) {
  if (trainer.updates().history(0) == nullptr) return std::numeric_limits<double>::quiet_NaN();
  const auto lookups = static_cast<double>(options.batch * options.model.shape.pooling);
  return pre_age(trainer, session.tables, std::get<AccessLaw>(options.task.what), lookups);
}

}  // namespace

// Batches come from a seed of its own: rows that another contender has just read would be in the
// cache.
Contender make_contender(const BenchOptions& options, const Task& task, const Recipe& recipe,
                         const Seed& seed, std::uint64_t number, Session& session) {
  const Plan plan = options.plan(recipe);
  Contender contender;
  contender.sampler =
      make_sampler(Sampling::shuffled, Seed::fixed(options.seed.value_or(0) + number),
                   task.train->size(), plan.mechanism.sampling_rate, options.batch);
  contender.trainer = std::make_unique<Trainer>(
      plan, options.performance, seed, session.model, options.model.shape.mode, session.tables,
      *task.train, *contender.sampler, session.files.get());
  contender.lateness = age(*contender.trainer, options, session);
  return contender;
}

}  // namespace lazydp
