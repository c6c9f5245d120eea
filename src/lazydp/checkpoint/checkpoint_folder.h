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

// Invariant: among the states that these files hold, at most one could be continued in a way that
// has not been: once a settled state of step s is in place, no unsettled state of a step <= s is
// left. So no run can release the model of step s and also continue from the rows as they were
// before they settled, which would give the same gradients two independent noises. (Copies that a
// user made of the files are beyond the program's reach.)
//
// A trainer that was saved to or restored from a folder is marked as kept: release() refuses it
// unless the caller passes the folder too, and leaves the settled state there.
class CheckpointFolder {
 public:
  // Makes the folder, for its owner only, if there is none. Only one process, or the ranks of one
  // run, may use it at a time; of ranks the first must come first. The caller holds a lock.
  CheckpointFolder(std::string path, Json settings, std::optional<Passphrase> passphrase);

  bool empty() const { return files().empty(); }

  // Opens the newest state, or with `back` = 1 the one before it. Throws UserError if there is
  // none.
  std::unique_ptr<CheckpointReader> open(std::size_t back = 0) const;

  // Restores the trainer, and removes checkpoints newer than this one once it is known to be whole:
  // no run continues from them.
  void restore(CheckpointReader& checkpoint, Trainer& trainer);

  // Saves the state, and keeps the one before it. Does nothing if no step was taken since the state
  // was saved or restored: tables in files can go back twice, and such a save would use up one of
  // the two.
  void save(Trainer& trainer);

  // Makes the trainer's state, all of whose rows have been settled, the only one, under a fresh
  // seed; states of later steps, which the user chose not to continue, are removed first. Durable
  // before it returns. Does nothing if that very state is there already. Tables in files are
  // settled here, into a file that settled_rows() names, with `metadata` in it; `progress` is
  // called with the number of rows.
  using Progress = std::function<void(std::uint64_t rows)>;
  void replace_by_settled(Trainer& trainer, const Metadata& metadata = {},
                          const Progress& progress = {});

  // Makes the weights in `file` the source of rows that tables in files have not needed yet, for a
  // run that begins with them: gives the file another name here, or copies it to another disk.
  void begin_with_rows(const std::string& file, const std::string& blake2b);

  // Returns the file that holds the weights of the settled state, if that has tables in files; or
  // those that the run began with.
  std::string settled_rows() const { return settled_.exist() ? path_ + "/" + settled_.name : ""; }
  const std::string& settled_digest() const { return settled_.blake2b; }

  // Sets the settings under which a later run continues; changed settings need a settled state.
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
  // The state of this step is here, and its trainer belongs to this folder.
  std::optional<Step> held_;
  SettledRows settled_;  // source of the rows that tables in files have not needed since
};

}  // namespace lazydp
