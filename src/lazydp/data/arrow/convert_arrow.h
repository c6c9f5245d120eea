#pragma once
// Converts tables that come through the Arrow C stream interface to a data file: batch by batch, in
// parallel, in the order of the rows, and without a copy through text.

#include <cstdint>
#include <functional>
#include <string>

#include "lazydp/data/arrow/arrow_abi.h"
#include "lazydp/data/conversion.h"
#include "lazydp/data/schema.h"

namespace lazydp {

// Owns what a producer handed over.
class ArrowStream {
 public:
  ArrowStream() = default;
  // Takes the stream over: the producer's structure is marked as released.
  explicit ArrowStream(ArrowArrayStream& from) : stream_(from) { from.release = nullptr; }
  ~ArrowStream() {
    if (stream_.release != nullptr) stream_.release(&stream_);
  }
  ArrowStream(ArrowStream&& from) noexcept : stream_(from.stream_) {
    from.stream_.release = nullptr;
  }
  ArrowStream& operator=(ArrowStream&&) = delete;

  ArrowArrayStream* get() { return &stream_; }

 private:
  ArrowArrayStream stream_{};
};

struct ConvertArrowOptions {
  std::string output;
  Schema schema;
  std::uint64_t max_bad_rows = 0;
};

// Converts the rows of one stream after the other; `next` opens stream number i and says its name,
// which must not be empty, or returns an empty name after the last. Columns are found by name, and
// a value means what its text would mean: the data file is that of the same values in separated
// text. Memory does not depend on the number of batches: there are two at once. The file appears at
// the end, whole, unless too many rows were bad. Throws UserError for columns that are not there or
// have no value of an example, IoError if a stream fails.
Conversion convert_arrow(
    const ConvertArrowOptions& options,
    const std::function<std::string(std::size_t i, ArrowArrayStream& out)>& next,
    const std::function<void(const Conversion&)>& progress = {});

}  // namespace lazydp
