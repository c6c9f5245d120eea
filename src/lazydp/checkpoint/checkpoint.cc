#include "lazydp/checkpoint/checkpoint.h"

#include <algorithm>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/checkpoint/sections.h"
#include "lazydp/train/claim.h"

namespace lazydp {
namespace {

// Writes the state that one rank alone has, to a file of its own.
void write_part(const std::string& path, const TrainingState& state, const Passphrase* passphrase,
                Settled settled, const std::string& save) {
  const std::vector<Section> sections = row_sections(state, settled, Which::own);
  AtomicFile file(path, kOwnerFile);
  SealedWriter sealed(file, passphrase);
  write_json(sealed, {{"save", save}, {"sections", json_of(sections)}});
  write_rows(sealed, sections);
  sealed.finish();
  file.commit();
}

// Returns, on all ranks, a name that no other save has.
std::string name_of_save(CommThread& ranks) {
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
                      const Passphrase* passphrase, Settled settled, const Seed& seed,
                      const std::optional<StoredTables>& tables) {
  const TrainingState state = trainer.state();
  check(settled == Settled::no || tables || state.table_optimizer.all_settled(trainer.now()),
        "no row is behind");
  check(tables.has_value() == state.storage.in_files(), "tables in files are found again");
  check(trainer.plan().correlation.independent() || trainer.plan().blocks,
        "the ledger says where a block of correlated noise begins");
  CommThread& ranks = state.comm;
  const bool shared = ranks.size() > 1;
  check(!shared || !tables, "ranks have their tables in memory");
  const auto meet = [&ranks] { ranks.run([](Communicator& all) { all.barrier(); }); };
  const std::string save = shared ? name_of_save(ranks) : "";
  if (shared) {
    write_part(part_path(path, save, ranks.rank()), state, passphrase, settled, save);
    meet();  // every part is written
    if (ranks.rank() != 0) return meet();
  }
  const std::vector<Section> rows =
      tables ? std::vector<Section>() : row_sections(state, settled, Which::common);
  CheckpointHead head{.step = trainer.now(),
                      .settled = settled == Settled::yes,
                      .settings = settings,
                      .seed = seed,
                      .spent = trainer.ledger(),
                      .score_scaling = trainer.score_scaling(),
                      .no_claim = no_claim(trainer),
                      .unit = trainer.sampler().unit(),
                      .sections = tables ? sections_of(state, settled) : json_of(rows),
                      .optimizer = head_of(state.dense_optimizer),
                      .save = save,
                      .parts = shared ? ranks.size() : 0,
                      .tables = tables,
                      .numbers_a_step = state.clock.numbers_a_step()};
  if (settled == Settled::no) head.clock = state.clock.numbers();

  AtomicFile file(path, kOwnerFile);
  SealedWriter sealed(file, passphrase);
  write_head(sealed, head);
  if (tables) {
    write_sections(sealed, state, settled);
  } else {
    write_rows(sealed, rows);
  }
  write_state(sealed, state.dense_optimizer);
  sealed.finish();
  file.commit();
  meet();
}

CheckpointReader::CheckpointReader(const std::string& path, const Passphrase* passphrase)
    : passphrase_(passphrase), file_(path, passphrase), head_(read_head(file_)) {}

std::string CheckpointReader::no_claim_for(const std::string& unit) const {
  if (head_.step == 0) return "";
  if (!head_.no_claim.empty()) return head_.no_claim;
  if (head_.unit == unit) return "";
  return "its first " + std::to_string(head_.step) + " steps protected " + head_.unit + ", not " +
         unit;
}

// Reads rows from this file and from those of the ranks that wrote it, as far as they hold rows of
// this rank.
void CheckpointReader::restore_rows(const TrainingState& state) {
  SectionReader reader(state, head_.is_settled());
  try {
    reader.read(file_, head_.sections);
    read_state(file_, head_.optimizer, head_.is_settled(), state.dense_optimizer);
    file_.finish();
    for (int part = 0; part < head_.parts; ++part) {
      const std::string part_file = part_path(path(), head_.save, part);
      SealedReader file(part_file, passphrase_);
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
  const TrainingState state = trainer.state();
  if (!head_.settled && head_.numbers_a_step != state.clock.numbers_a_step()) {
    throw UserError("the checkpoint is of another optimizer of tables");
  }
  if (head_.tables) {
    if (head_.sections != sections_of(state, head_.is_settled())) {
      throw UserError("the checkpoint is of a model of another shape, or of another algorithm");
    }
    read_sections(file_, state, head_.is_settled(), head_.tables->settled.step);
    read_state(file_, head_.optimizer, head_.is_settled(), state.dense_optimizer);
    file_.finish();
  } else {
    restore_rows(state);
  }
  if (head_.settled) {
    state.clock.restore_settled(head_.step);
    for (std::size_t k = 0; k < state.tables.size(); ++k) {
      std::ranges::fill(state.table_optimizer.settled_through(k), head_.step);
    }
  } else {
    state.clock.restore(head_.clock, head_.step == 0 ? 0 : step_before_block(head_.spent));
  }
  state.dense_optimizer.begin_block_after(state.clock.before_block());
  trainer.restore(head_.spent, no_claim_for(trainer.sampler().unit()), head_.score_scaling);
}

}  // namespace lazydp
