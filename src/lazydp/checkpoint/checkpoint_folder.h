#pragma once
// The checkpoints of one run, and the rule that only a settled state may branch.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lazydp/checkpoint/checkpoint.h"
#include "lazydp/export/safetensors.h"

namespace lazydp {

// Invariant: of the states that these files hold, at most one could be continued in a way that has
// not been: once a settled state of step s is in place, no unsettled one of a step <= s is left. So
// nobody can release the model of step s and go on from the rows as they were before they settled,
// which would give the same gradients two independent noises. (Copies that somebody made of the
// files are beyond our reach.)
//
// A trainer that was saved to or restored from a folder is marked as kept: release() refuses it
// unless the folder comes along, and leaves the settled state there.
class CheckpointFolder {
 public:
  // Makes the folder, for its owner only, if there is none. One process at a time, or the ranks of
  // one run, the first of which comes first: the caller holds a lock.
  CheckpointFolder(std::string path, Json settings, std::optional<Passphrase> passphrase);

  bool empty() const { return files().empty(); }

  // The newest state, or with `back` = 1 the one before it. Throws UserError if there is none.
  std::unique_ptr<CheckpointReader> open(std::size_t back = 0) const;

  // Newer checkpoints than this one go, once it is known to be whole: nobody goes on from them.
  void restore(CheckpointReader& checkpoint, Trainer& trainer);

  // Keeps the state, and the one before it. Nothing happens if no step was taken since the state
  // was saved or restored: tables in files can go back twice, and that would be once for nothing.
  void save(Trainer& trainer);

  // The trainer's rows have all been settled: from here on its state under a fresh seed is the only
  // one, and states of later steps, which somebody chose not to go on from, go first. Durable
  // before it returns. Nothing happens if that very state is there already. Tables in files are
  // settled here, into a file that settled_rows() names, with `metadata` in it; `progress` hears of
  // rows.
  using Progress = std::function<void(std::uint64_t rows)>;
  void replace_by_settled(Trainer& trainer, const Metadata& metadata = {},
                          const Progress& progress = {});

  // The file that holds the weights of the settled state, if that has tables in files.
  std::string settled_rows() const { return settled_.exist() ? path_ + "/" + settled_.name : ""; }
  const std::string& settled_digest() const { return settled_.blake2b; }

  // What a later run goes on under; a changed one needs a settled state.
  void change_settings(Json settings) { settings_ = std::move(settings); }

 private:
  struct File {
    Step step = 0;
    bool settled = false;
    std::string path;
  };
  std::vector<File> files() const;  // newest first
  std::string path_of(Step step, Settled settled) const;
  void remove(const File& file) const;
  void remove(const std::string& file) const;
  void remove_newer_than(Step step) const;
  void give_up_newer_than(const CheckpointReader& checkpoint) const;
  bool holds(Trainer& trainer) const;
  void remove_other_rows() const;
  void write_settled_rows(Trainer& trainer, const Metadata& metadata, const Progress& progress);
  const Passphrase* passphrase() const { return passphrase_ ? &*passphrase_ : nullptr; }
  void remove_overtaken() const;
  void remove_lost_parts() const;
  void remove_unfinished() const;

  std::string path_;
  Json settings_;
  std::optional<Passphrase> passphrase_;
  std::optional<Step> held_;  // the state of this step is here, of a trainer that belongs here
  SettledRows settled_;       // where tables in files have rows from that they did not need since
};

}  // namespace lazydp
