#include "lazydp/checkpoint/checkpoint.h"

#include <algorithm>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/checkpoint/file_sections.h"
#include "lazydp/checkpoint/memory_sections.h"
#include "lazydp/train/claim.h"

namespace lazydp {
namespace {

constexpr mode_t kOwnerOnly = 0600;

// What one rank alone has, in a file of its own.
void write_part(const std::string& path, Trainer& trainer, const Lock* lock, bool settled,
                const std::string& save) {
  const std::vector<Section> sections = row_sections(trainer, settled, Which::own);
  AtomicFile file(path, kOwnerOnly);
  SealedWriter sealed(file, lock);
  write_json(sealed, {{"save", save}, {"sections", json_of(sections)}});
  write_rows(sealed, sections);
  sealed.finish();
  file.commit();
}

// A name that no other save has, on all ranks.
std::string name_of_save(Courier& ranks) {
  std::string name;
  constexpr const char* kDigits = "0123456789abcdef";
  for (const std::uint8_t byte : Seed::from_os().reveal()) name += kDigits[byte & 15];
  ranks.run([&](Communicator& all) { name = all.broadcast_text(name); });
  return name;
}

}  // namespace

std::string part_path(const std::string& path, const std::string& save, int rank) {
  return path + "-part-" + save + "-" + std::to_string(rank);
}

void write_checkpoint(const std::string& path, Trainer& trainer, const Json& settings,
                      const Lock* lock, bool settled, const Seed& seed,
                      const std::optional<StoredTables>& tables) {
  check(!settled || tables || trainer.updates().all_settled(trainer.now()), "no row is behind");
  check(tables.has_value() == (trainer.files() != nullptr), "tables in files are found again");
  Courier* const ranks = trainer.courier();
  check(ranks == nullptr || !tables, "ranks have their tables in memory");
  const std::string save = ranks != nullptr ? name_of_save(*ranks) : "";
  if (ranks != nullptr) {
    write_part(part_path(path, save, ranks->rank()), trainer, lock, settled, save);
    ranks->run([](Communicator& all) { all.barrier(); });  // every part is there
    if (ranks->rank() != 0) return ranks->run([](Communicator& all) { all.barrier(); });
  }
  const std::vector<Section> rows =
      tables ? std::vector<Section>() : row_sections(trainer, settled, Which::common);
  CheckpointHead head{.step = trainer.now(),
                      .settled = settled,
                      .settings = settings,
                      .seed = seed,
                      .spent = trainer.ledger(),
                      .no_claim = no_claim(trainer),
                      .unit = trainer.protected_unit(),
                      .sections = tables ? sections_of(trainer, settled) : json_of(rows),
                      .optimizer = head_of(trainer.dense_optimizer()),
                      .save = save,
                      .parts = ranks != nullptr ? ranks->size() : 0,
                      .tables = tables};
  const std::span<const Owed> clock = trainer.table_clock().steps();
  if (!settled) head.clock.assign(clock.begin(), clock.end());

  AtomicFile file(path, kOwnerOnly);
  SealedWriter sealed(file, lock);
  write_head(sealed, head);
  if (tables) {
    write_sections(sealed, trainer, settled);
  } else {
    write_rows(sealed, rows);
  }
  write_state(sealed, trainer.dense_optimizer());
  sealed.finish();
  file.commit();
  if (ranks != nullptr) ranks->run([](Communicator& all) { all.barrier(); });
}

CheckpointReader::CheckpointReader(const std::string& path, const Lock* lock)
    : lock_(lock), file_(path, lock), head_(read_head(file_)) {}

std::string CheckpointReader::no_claim_for(const std::string& unit) const {
  if (head_.step == 0) return "";
  if (!head_.no_claim.empty()) return head_.no_claim;
  if (head_.unit == unit) return "";
  return "its first " + std::to_string(head_.step) + " steps protected " + head_.unit + ", not " +
         unit;
}

// From this file and from those of the ranks that wrote it, as far as they have rows for us.
void CheckpointReader::restore_rows(Trainer& trainer) {
  SectionReader reader(trainer, head_.settled);
  try {
    reader.read(file_, head_.sections);
    read_state(file_, head_.optimizer, head_.settled, trainer.dense_optimizer());
    file_.finish();
    for (int part = 0; part < head_.parts; ++part) {
      const std::string part_file = part_path(path(), head_.save, part);
      SealedReader file(part_file, lock_);
      const Json json = read_json(file);
      if (json.at("save") != head_.save) {
        throw IoError(part_file + " is a part of another checkpoint");
      }
      if (!reader.wants(json.at("sections"))) continue;
      reader.read(file, json.at("sections"));
      file.finish();
    }
  } catch (const Json::exception& error) {
    throw IoError(path() + " is damaged: " + error.what());
  }
  reader.require_all();
}

void CheckpointReader::restore(Trainer& trainer) {
  if (head_.tables) {
    if (head_.sections != sections_of(trainer, head_.settled)) {
      throw UserError("the checkpoint is of a model of another shape, or of another algorithm");
    }
    read_sections(file_, trainer, head_.settled, head_.tables->settled.step);
    read_state(file_, head_.optimizer, head_.settled, trainer.dense_optimizer());
    file_.finish();
  } else {
    restore_rows(trainer);
  }
  const std::string no_claim = no_claim_for(trainer.protected_unit());
  if (!head_.settled) return trainer.restore(head_.spent, head_.clock, no_claim);
  for (std::size_t k = 0; k < trainer.tables().size(); ++k) {
    History* history = trainer.updates().history(k);
    if (history != nullptr) std::ranges::fill(history->steps(), head_.step);
  }
  trainer.restore(head_.spent, std::vector<Owed>(head_.step), no_claim);  // that owe nothing
}

}  // namespace lazydp
