#pragma once
// What is known of the privacy of the model that a run begins with.

#include <string>

#include "lazydp/base/text/json.h"
#include "lazydp/privacy/ledger.h"

namespace lazydp {

// A run that begins with a model's weights reveals what these say of the data they were trained on,
// and what it learns itself. Where one person is in both, both count: the initial model's ledger is
// the beginning of the run's own. A model that is public reveals nothing more, whoever trained it;
// only the user can know that it is.
struct InitialModel {
  std::string blake2b = {};      // digest of the file of its weights
  bool declared_public = false;  // by the user

  // The statement on its card, unless it is declared public.
  std::string no_claim = {};  // why nothing is claimed for it; empty if something is
  std::string unit = {};      // the unit that its claim protects, in words
  double epsilon = 0.0;
  double delta = 0.0;
  Ledger spent = {};  // what a run that begins with it has spent before its first step
};

Json json_of(const InitialModel& model);

// Describes it in a sentence's end: "which ...".
std::string in_words(const InitialModel& model);

}  // namespace lazydp
