#pragma once
// The only door out: a trainer goes in, a settled model and its card come out.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lazydp/export/safetensors.h"
#include "lazydp/model/shape.h"
#include "lazydp/release/card.h"
#include "lazydp/train/claim.h"
#include "lazydp/train/evaluation.h"
#include "lazydp/train/plan_json.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// What the card says beside what the trainer knows. All of it public.
struct ReleaseNotes {
  double delta = 0.0;
  ModelShape shape = {};
  Json data = {};                       // schema, or the name of a synthetic task
  std::optional<Metrics> metrics = {};  // computed on private data: only if the user wants them out
};

// Every row has its noise; the claim is what its card says. Nothing else writes weights to a file
// that may be published.
class ReleasedModel {
 public:
  const Claim& claim() const { return claim_; }
  const Json& card() const { return card_; }

  // Writes model.safetensors and card.json. The same released state gives the same bytes. Throws
  // PrivacyError if there are files that say something else, IoError if writing fails. Of several
  // ranks all call, and the first writes what the others send it, a few rows at a time.
  void write(const std::string& folder) const;

 private:
  friend ReleasedModel release(Trainer&&, const ReleaseNotes&,
                               const std::function<void(std::uint64_t)>&);
  ReleasedModel(Trainer& trainer, const ReleaseNotes& notes);

  void stop_training() const;
  void write_here(const std::string& folder) const;
  bool take_settled_rows(const std::string& path, const Metadata& metadata) const;

  Claim claim_;
  Json card_;
  Trainer& trainer_;
};

// Settles every row, checks that none is behind and, if the trainer's state is kept in a folder,
// makes the settled state the only one there, before there is a model to publish. The trainer takes
// no more steps; it must outlive what is returned.
ReleasedModel release(Trainer&& trainer, const ReleaseNotes& notes,
                      const std::function<void(std::uint64_t rows)>& progress = {});

}  // namespace lazydp
