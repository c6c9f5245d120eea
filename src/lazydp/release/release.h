#pragma once
// The only door out: a trainer goes in, a settled model and its card come out.

#include <cstdint>
#include <functional>
#include <memory>
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

class CheckpointFolder;

// Hears of rows that were settled.
using ReleaseProgress = std::function<void(std::uint64_t rows)>;

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
  friend ReleasedModel release(std::unique_ptr<Trainer>, const ReleaseNotes&,
                               const ReleaseProgress&);
  friend ReleasedModel release(std::unique_ptr<Trainer>, const ReleaseNotes&, CheckpointFolder&,
                               const ReleaseProgress&);
  ReleasedModel(std::unique_ptr<Trainer> trainer, const ReleaseNotes& notes,
                const ReleaseProgress& progress);

  // A file with all weights that the settled state of tables in files has already.
  struct SettledFile {
    std::string path;
    std::string blake2b;
  };

  void replace_state(CheckpointFolder& folder, const ReleaseProgress& progress);
  void write_here(const std::string& folder) const;
  bool take_settled_rows(const std::string& path, const Metadata& metadata) const;

  std::unique_ptr<Trainer> trainer_;
  Claim claim_;
  Json card_;
  std::optional<SettledFile> settled_;
};

// Settles every row and checks that none is behind. The trainer is gone afterwards: it takes no
// more steps. Throws PrivacyError for a trainer whose state a folder keeps: that must come along.
ReleasedModel release(std::unique_ptr<Trainer> trainer, const ReleaseNotes& notes,
                      const ReleaseProgress& progress = {});

// The same for a run whose state is kept in `folder`: makes the settled state the only one there,
// before there is a model to publish.
ReleasedModel release(std::unique_ptr<Trainer> trainer, const ReleaseNotes& notes,
                      CheckpointFolder& folder, const ReleaseProgress& progress = {});

}  // namespace lazydp
