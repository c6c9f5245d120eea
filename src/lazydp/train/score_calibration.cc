#include "lazydp/train/score_calibration.h"

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/train/evaluation.h"
#include "lazydp/train/score_counts.h"

namespace lazydp {

void calibrate_scores(Trainer& trainer, const ScoredPart& examples) {
  if (!trainer.may_calibrate()) return;
  RandomStream random = trainer.open_calibration();  // the ledger first
  const double noise = calibration_noise(trainer.plan());
  ScoreCounts counts;
  const std::vector<double> weights = examples.weights();
  score(trainer, examples.examples,
        [&](std::span<const ExampleId> ids, const Batch& batch, std::span<const float> logits) {
          for (std::size_t i = 0; i < ids.size(); ++i) {
            counts.add(logits[i], batch.labels[i], weights[ids[i]]);
          }
        });
  trainer.state().comm.run([&](Communicator& all) { all.add_up(counts.cells()); });
  for (double& count : counts.cells()) count += noise * random.normal();
  ScoreScaling scaling = counts.best_scaling(noise);
  scaling.shift += std::log(trainer.plan().positive_weight);  // odds as training sees them
  trainer.scale_scores(scaling);
}

}  // namespace lazydp
