#pragma once
// Converts text to a data file: streaming, in parallel, in the order of the text.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lazydp/data/conversion.h"
#include "lazydp/data/schema.h"
#include "lazydp/data/text/example_parser.h"

namespace lazydp {

struct ConvertOptions {
  std::vector<std::string> inputs;  // "-" for standard input
  std::string output;
  Schema schema;
  // The text's format; none: separated as the schema says.
  std::optional<TextFormat> format = {};
  std::uint64_t max_bad_lines = 0;
  std::uint32_t page_bytes = 0;  // 0: chosen to suit the schema
};

// Converts the inputs. Memory does not depend on their size. The file appears at the end, whole,
// unless too many lines were bad; then the inputs are not read to their end. `progress` is called
// now and then. Throws UserError if there is no example or a header is not the schema's, IoError if
// a file cannot be read or written.
Conversion convert(const ConvertOptions& options,
                   const std::function<void(const Conversion&)>& progress = {});

// Returns the schema with a vocabulary in every table: the values that occur at least `min_count`
// times in these inputs of the format, which are read once for it. Memory grows with the number of
// distinct values. The schema records what it took from the data: no epsilon covers that.
Schema learn_vocabulary(const Schema& schema, const std::vector<std::string>& inputs,
                        std::uint64_t min_count, const TextFormat& format);

}  // namespace lazydp
