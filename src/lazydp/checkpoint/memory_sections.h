#pragma once
// The large parts of a trainer's state whose tables are in memory, as checkpoints hold them: rows
// of something, one after the other. What some ranks wrote any others read: rows have global
// numbers.

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
  RowRange rows;               // that these bytes are
  RowId whole = 0;             // rows that the thing has
  std::span<std::byte> bytes;  // here
};

enum class Which : std::uint8_t {
  common,  // what every rank has: dense weights, copied tables
  own      // what this rank alone has
};
// A settled state has no history.
std::vector<Section> row_sections(const TrainingState& state, Settled settled, Which which);

Json json_of(std::span<const Section> sections);
void write_rows(SealedWriter& file, std::span<const Section> sections);

// Puts what a file holds where it belongs, and counts: in the end everything must have come.
class SectionReader {
 public:
  SectionReader(const TrainingState& state, Settled settled);

  // Whether a file whose sections are described by `json` holds anything for this rank. Throws
  // UserError if it is of something else.
  bool wants(const Json& json) const;

  // Reads the sections, and past what belongs to others.
  void read(SealedReader& file, const Json& json);

  // Throws UserError unless every row of every section has come.
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
