#pragma once
// A data file to train on: how it is split, and what of it is protected.

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
  std::string path = {};  // empty: the share
};

// How a file is to be trained on. Nothing has been opened yet.
struct TrainingFileOptions {
  std::string path = {};
  HeldOut test = {};
  HeldOut validation = {};
  std::optional<std::string> split_by = {};      // a key column, or "position"
  std::optional<std::string> privacy_unit = {};  // a key column; none: an example is a unit
};

struct TrainingFile {
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

// Opens the file, splits it and finds its units. Throws UserError for shares that leave nothing,
// columns that are no keys, and files that do not go together.
std::shared_ptr<const TrainingFile> open_training_file(const TrainingFileOptions& options);

// Rows mean the same only if they were hashed in the same way: throws UserError if not.
void require_same_columns(const DataFile& train, const DataFile& other);

}  // namespace lazydp
