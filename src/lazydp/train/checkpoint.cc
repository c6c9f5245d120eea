#include "lazydp/train/checkpoint.h"

#include <algorithm>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/train/claim.h"
#include "lazydp/train/sections.h"

namespace lazydp {

void write_checkpoint(const std::string& path, Trainer& trainer, const Json& settings,
                      const Lock* lock, bool settled, const Seed& seed,
                      const std::optional<StoredTables>& tables) {
  check(!settled || tables || trainer.updates().all_settled(trainer.now()), "no row is behind");
  check(tables.has_value() == (trainer.files() != nullptr), "tables in files are found again");
  CheckpointHead head{.step = trainer.now(),
                      .settled = settled,
                      .settings = settings,
                      .seed = seed,
                      .spent = trainer.ledger(),
                      .no_claim = no_claim(trainer),
                      .unit = trainer.protected_unit(),
                      .sections = sections_of(trainer, settled),
                      .optimizer = head_of(trainer.dense_optimizer()),
                      .tables = tables};
  const std::span<const Owed> clock = trainer.table_clock().steps();
  if (!settled) head.clock.assign(clock.begin(), clock.end());

  constexpr mode_t kOwnerOnly = 0600;
  AtomicFile file(path, kOwnerOnly);
  SealedWriter sealed(file, lock);
  write_head(sealed, head);
  write_sections(sealed, trainer, settled);
  write_state(sealed, trainer.dense_optimizer());
  sealed.finish();
  file.commit();
}

CheckpointReader::CheckpointReader(const std::string& path, const Lock* lock)
    : file_(path, lock), head_(read_head(file_)) {}

std::string CheckpointReader::no_claim_for(const std::string& unit) const {
  if (head_.step == 0) return "";
  if (!head_.no_claim.empty()) return head_.no_claim;
  if (head_.unit == unit) return "";
  return "its first " + std::to_string(head_.step) + " steps protected " + head_.unit + ", not " +
         unit;
}

void CheckpointReader::restore(Trainer& trainer) {
  if (head_.sections != sections_of(trainer, head_.settled)) {
    throw UserError("the checkpoint is of a model of another shape, or of another algorithm");
  }
  read_sections(file_, trainer, head_.settled, head_.tables ? head_.tables->settled.step : 0);
  read_state(file_, head_.optimizer, head_.settled, trainer.dense_optimizer());
  file_.finish();
  const std::string no_claim = no_claim_for(trainer.protected_unit());
  if (!head_.settled) return trainer.restore(head_.spent, head_.clock, no_claim);
  for (std::size_t k = 0; k < trainer.tables().size(); ++k) {
    History* history = trainer.updates().history(k);
    if (history != nullptr) std::ranges::fill(history->steps(), head_.step);
  }
  trainer.restore(head_.spent, std::vector<Owed>(head_.step), no_claim);  // that owe nothing
}

}  // namespace lazydp
