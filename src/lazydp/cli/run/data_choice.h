#pragma once
// A data file to train on: how it is split, and what of it is protected.

#include <cstdint>
#include <memory>
#include <string>

#include "lazydp/cli/flags.h"
#include "lazydp/data/dataset.h"
#include "lazydp/data/file/data_file.h"
#include "lazydp/data/privacy_units.h"

namespace lazydp::cli {

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

}  // namespace lazydp::cli
