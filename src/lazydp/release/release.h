#pragma once
// The only way out of a run: takes a trainer, and returns a settled model and its card.

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

// The entries of a card that the trainer does not know. All of them are public.
struct ReleaseNotes {
  double delta = 0.0;
  ModelShape shape = {};
  Json data = {};  // schema, or the name of a synthetic task
  // Computed on private data: set only if the user wants to publish them.
  std::optional<Metrics> metrics = {};
  // Set if the model is the best of a private search: the claim then pays for all of its trials.
  std::optional<PrivateSearch> search = {};
};

class CheckpointFolder;

// Called with the number of rows that were settled.
using ReleaseProgress = std::function<void(std::uint64_t rows)>;

// A model in which every row has its noise; its card states the claim. Nothing else writes weights
// of a run to a file that may be published: int8_rows.h rounds one that was.
class ReleasedModel {
 public:
  const Claim& claim() const { return claim_; }
  const Json& card() const { return card_; }

  // Writes model.safetensors and card.json. The same released state gives the same bytes. Throws
  // PrivacyError if there are files that say something else, IoError if writing fails. All ranks
  // call it; the first writes what the others send it, a few rows at a time.
  void write(const std::string& folder) const;

 private:
  friend ReleasedModel release(std::unique_ptr<Trainer>, const ReleaseNotes&,
                               const ReleaseProgress&);
  friend ReleasedModel release(std::unique_ptr<Trainer>, const ReleaseNotes&, CheckpointFolder&,
                               const ReleaseProgress&);
  ReleasedModel(std::unique_ptr<Trainer> trainer, const ReleaseNotes& notes,
                const ReleaseProgress& progress);

  // A file with all weights that the settled state of tables in files already has.
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

// Settles every row and checks that none is late. Consumes the trainer: it takes no more steps.
// Throws PrivacyError for a trainer whose state a folder keeps: such a folder must be passed too.
ReleasedModel release(std::unique_ptr<Trainer> trainer, const ReleaseNotes& notes,
                      const ReleaseProgress& progress = {});

// Releases a run whose state is kept in `folder`: makes the settled state the only one there,
// before there is a model to publish.
ReleasedModel release(std::unique_ptr<Trainer> trainer, const ReleaseNotes& notes,
                      CheckpointFolder& folder, const ReleaseProgress& progress = {});

}  // namespace lazydp
