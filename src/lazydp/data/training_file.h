#pragma once
// A data file to train on, with its split and its privacy units.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lazydp/data/dataset.h"
#include "lazydp/data/file/data_file.h"
#include "lazydp/data/privacy_units.h"
#include "lazydp/data/split.h"

namespace lazydp {

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

  // Returns the number of units that are sampled; treated as public.
  std::uint64_t population() const { return units ? units->size() : train->size(); }
};

// Opens the file, splits it and finds its units. Throws UserError for shares that leave nothing to
// train on, columns that are not keys, and files that do not match.
std::shared_ptr<const TrainingFile> open_training_file(const TrainingFileOptions& options);

// Throws UserError if the columns differ: rows mean the same only if they were hashed in the same
// way.
void require_same_columns(const DataFile& train, const DataFile& other);

}  // namespace lazydp
