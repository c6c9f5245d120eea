#pragma once
// Released models whose tables have eight bits a weight, for serving.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lazydp {

// Rows of a table in eight bits a weight: w is about scale x whole number from -127 to 127.
struct Int8Rows {
  std::vector<std::int8_t> values;  // rows x dim
  std::vector<float> scales;        // one for each row
};

// Rounds rows of `dim` weights: no weight moves by more than half its row's scale, which is the
// largest of the row over 127. A row with a weight that is not finite keeps a scale that is not.
Int8Rows int8_rows(std::span<const float> weights, std::size_t dim);

// Multiplies rows by their scales.
void scale_rows(std::span<const std::int8_t> values, std::span<const float> scales,
                std::span<float> weights);

struct Int8Sizes {
  std::uint64_t bytes_before = 0;
  std::uint64_t bytes_after = 0;
};

// Writes the released model in folder `model` to the new folder `out`, with its tables in eight
// bits a weight. A function of what was released already: the claim on the card stays what it is.
// Throws UserError for a model that is rounded already or a folder that holds something,
// PrivacyError for a model that was edited.
Int8Sizes write_with_int8_rows(const std::string& model, const std::string& out);

}  // namespace lazydp
