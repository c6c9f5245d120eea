#pragma once
// The large parts of a checkpoint of tables that are in memory: rows of an array, one after the
// other. Any ranks can read what other ranks wrote: rows have global numbers.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lazydp/checkpoint/checkpoint_header.h"
#include "lazydp/checkpoint/sealed_file.h"
#include "lazydp/train/plan_json.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

struct Section {
  std::string name;
  RowRange rows;               // the rows that these bytes are
  RowId whole = 0;             // rows of the whole array
  std::span<std::byte> bytes;  // on this rank
};

enum class Which : std::uint8_t {
  common,  // held by every rank: dense weights, copied tables
  own      // held by this rank alone
};
// Returns the sections of a state. A settled state has no history.
std::vector<Section> row_sections(const TrainingState& state, Settled settled, Which which);

Json json_of(std::span<const Section> sections);
void write_rows(SealedWriter& file, std::span<const Section> sections);

// Reads a file's sections into memory, and counts rows: in the end every row must have been read.
class SectionReader {
 public:
  SectionReader(const TrainingState& state, Settled settled);

  // Returns whether a file whose sections are described by `json` holds anything for this rank.
  // Throws UserError if the sections are not those of this state.
  bool wants(const Json& json) const;

  // Reads the sections, and skips rows of other ranks.
  void read(SealedReader& file, const Json& json);

  // Throws UserError unless every row of every section has been read.
  void require_all() const;

 private:
  struct Place {
    Section section;
    RowId received = 0;
  };
  std::size_t place_of(const Json& section) const;

  std::vector<Place> places_;
};

}  // namespace lazydp
