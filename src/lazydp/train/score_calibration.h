#pragma once
// Calibrates the scores of a trained model: makes them probabilities again.
//
// A clipped example pulls as hard as any other however wrong the model is about it, so that logits
// grow beyond what the labels bear out: their order is good, their size is not. Noisy counts of the
// scores, a use of the data like a step, say by how much.

#include <optional>

#include "lazydp/privacy/ledger.h"
#include "lazydp/train/noisy_score.h"
#include "lazydp/train/plan.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// Counts the scores of all examples to train on, with noise, and scales the trainer's scores by
// what the counts say. Does nothing unless the plan calibrates, its last step has been taken, and
// nothing was calibrated since. Every rank calls it. The noise is a pure function of the seed and
// the step: a run that is stopped here and goes on counts as before.
void calibrate_scores(Trainer& trainer, const ScoredPart& examples);

}  // namespace lazydp
