#pragma once
// The data of a run: a file, or a synthetic task.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lazydp/base/text/json.h"
#include "lazydp/data/dataset.h"
#include "lazydp/data/file/data_file.h"
#include "lazydp/data/privacy_units.h"
#include "lazydp/data/split.h"
#include "lazydp/data/synthetic/click_task.h"
#include "lazydp/data/synthetic/synthetic.h"

namespace lazydp {

// A data file to train on, with its split and its privacy units.

// A part of the data that training leaves out: a share of the file, or a file of its own.
struct HeldOut {
  double share = 0.0;
  std::string path = {};  // empty: use the share
};

// The choices for training on a file, before anything is opened.
struct TrainingFileOptions {
  std::string path = {};
  HeldOut test = {};
  HeldOut validation = {};
  std::optional<std::string> split_by = {};      // a key column, or "position"
  std::optional<std::string> privacy_unit = {};  // a key column; none: each example is a unit
  std::optional<std::string> group_by = {};      // a key column; none: nothing is grouped
};

struct TrainingFile {
  std::shared_ptr<const DataFile> file;
  std::shared_ptr<const Part> train;
  std::shared_ptr<const Dataset> validation;  // evaluated during training; null: the test part
  std::shared_ptr<const Dataset> test;        // evaluated at the end; null if there is none
  std::string split;                          // in words
  std::string neighbours;                     // the neighbouring data sets of the claim, in words
  std::shared_ptr<const PrivacyUnits> units;  // null: each example is a unit
  std::string unit = "one example";           // the protected unit, in words
  std::optional<std::string> group_by;  // the column of these groups; none: nothing is grouped
  GroupOf file_group, validation_group, test_group;  // of examples of the whole file, of a part

  // Returns the number of units that are sampled; treated as public.
  std::uint64_t population() const { return units ? units->size() : train->size(); }
};

// Opens the file, splits it and finds its units. Throws UserError for shares that leave nothing to
// train on, columns that are not keys, and files that do not match.
std::shared_ptr<const TrainingFile> open_training_file(const TrainingFileOptions& options);

// Throws UserError if the columns differ: rows mean the same only if they were hashed in the same
// way.
void require_same_columns(const DataFile& train, const DataFile& other);

// The origin of the data. A file is open; a synthetic task has not been generated yet.
struct DataSource {
  std::string name;  // as --synthetic takes it, or the file's
  Synthetic what;
  std::shared_ptr<const TrainingFile> file;  // null: synthetic
  // The size of a task that is only timed: so many examples that even the largest tables are looked
  // up all over, and not at the same rows again.
  std::uint64_t timing_examples = std::uint64_t{1} << 26;

  bool grouped() const { return file && file->group_by; }
  bool learnable() const { return file || std::holds_alternative<ClickSize>(what); }
  bool has_held_out() const { return file ? file->test || file->validation : learnable(); }
  std::string in_words() const { return (file ? "data " : "synthetic ") + name; }
  std::uint64_t examples() const;  // examples (or units) to train on: the public size of the data
  double bytes() const;            // bytes of memory that holding it takes
};

// Returns the public facts for a released model's card: the data's name, its size, what was
// protected, and the schema that new data needs.
Json card_of(const DataSource& source);

// Returns a value that is equal for equal data, split and protected in the same way, wherever the
// file lies. A resumed run compares it to check that it continues with its own data.
Json identity_of(const DataSource& source);

// The examples of a run, by part.
struct TrainingData {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;  // evaluated during training; null: held_out
  std::shared_ptr<const Dataset> held_out;    // null if there is nothing to learn
  GroupOf validation_group, held_out_group;   // empty: nothing is grouped
  double bayes_auc = 0.0;                     // NaN if there is nothing to learn
  double bayes_logloss = 0.0;
  std::shared_ptr<const TrainingFile> file;  // the file that `train` is part of; null: synthetic
};

// Loads the data. Look-ups that are only timed have `timing`'s shape, but the source's number of
// examples.
TrainingData load_data(const DataSource& source, TimingShape timing);

}  // namespace lazydp
