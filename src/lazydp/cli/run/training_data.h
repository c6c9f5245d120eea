#pragma once
// The data that a run learns from: a file, or what --synthetic names.

#include <cstdint>
#include <memory>
#include <string>

#include "lazydp/cli/flags.h"
#include "lazydp/cli/run/model_options.h"
#include "lazydp/data/dataset.h"
#include "lazydp/data/file/data_file.h"
#include "lazydp/data/privacy_units.h"
#include "lazydp/data/synthetic/synthetic.h"

namespace lazydp::cli {

// A data file to train on: how it is split, and what of it is protected.

struct DataChoice {
  std::shared_ptr<const DataFile> file;
  std::shared_ptr<const Part> train;
  std::shared_ptr<const Dataset> validation;  // while training; null: the test part
  std::shared_ptr<const Dataset> test;        // at the end; null if there is none
  std::string split;                          // in words
  std::string neighbours;                     // what the claim is about, in words
  std::shared_ptr<const Units> units;         // null: an example is a unit
  std::string unit = "one example";           // what is protected, in words

  // What is sampled, and treated as public.
  std::uint64_t population() const { return units ? units->size() : train->size(); }
};

// Null if no --data is given. Opens the file, splits it and finds its units. UserError for shares
// that leave nothing, columns that are no keys, and files that do not go together.
std::shared_ptr<const DataChoice> choose_data(const Given& given);

// Rows mean the same only if they were hashed in the same way: throws UserError if not.
void require_same_columns(const DataFile& train, const DataFile& other);

struct TaskChoice {
  std::string name;  // as --synthetic takes it, or of the file
  Synthetic what;
  std::shared_ptr<const DataChoice> file;  // null: a synthetic one
  // Of a task to be timed: so many that even the largest tables are looked up all over, and not at
  // the same rows again.
  std::uint64_t timing_examples = std::uint64_t{1} << 26;

  bool learnable() const { return file || std::holds_alternative<ClickSize>(what); }
  bool has_held_out() const { return file ? file->test || file->validation : learnable(); }
  std::string in_words() const { return (file ? "data " : "synthetic ") + name; }
  std::uint64_t examples() const;  // (or units) to train on: the public size of the data
  double bytes() const;            // that holding it takes
};

// The file, if there is one. Else the click task for the model `small`, if it still fits; look-ups
// to be timed for all others. Throws UserError for a task that the model cannot take.
TaskChoice choose_task(const Given& given, const ModelChoice& model,
                       std::shared_ptr<const DataChoice> file = nullptr);

struct Task {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;  // looked at while training; null: held_out
  std::shared_ptr<const Dataset> held_out;    // null where there is nothing to learn
  double bayes_auc = 0.0;                     // NaN there
  double bayes_logloss = 0.0;
  std::shared_ptr<const DataChoice> file;  // what `train` is of; null: a synthetic one
};

Task make_task(const TaskChoice& choice, const ModelShape& shape);

}  // namespace lazydp::cli
