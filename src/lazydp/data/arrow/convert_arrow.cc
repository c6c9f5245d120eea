#include "lazydp/data/arrow/convert_arrow.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/data/arrow/row_encoder.h"
#include "lazydp/data/file/data_file_writer.h"

namespace lazydp {
namespace {

constexpr std::int64_t kRowsPerPart = 4096;
constexpr std::size_t kParts = 16;

// Owns a batch.
struct ArrayOwner {
  ArrowArray array{};
  ArrayOwner() = default;
  ArrayOwner(ArrayOwner&& from) noexcept : array(from.array) { from.array.release = nullptr; }
  ArrayOwner& operator=(ArrayOwner&& from) noexcept {
    std::swap(array, from.array);
    return *this;
  }
  ~ArrayOwner() {
    if (array.release != nullptr) array.release(&array);
  }
};

struct SchemaOwner {
  ArrowSchema schema{};
  SchemaOwner() = default;
  SchemaOwner(const SchemaOwner&) = delete;
  SchemaOwner& operator=(const SchemaOwner&) = delete;
  ~SchemaOwner() {
    if (schema.release != nullptr) schema.release(&schema);
  }
};

[[noreturn]] void fail(ArrowArrayStream* stream, const std::string& name, int error) {
  const char* why = stream->get_last_error == nullptr ? nullptr : stream->get_last_error(stream);
  throw IoError("cannot read " + name + ": " + (why == nullptr ? std::strerror(error) : why));
}

// Reads one batch ahead, on a thread of its own. A stream is never read by two threads at once.
class BatchesAhead {
 public:
  BatchesAhead(ArrowArrayStream& stream, std::string name)
      : stream_(&stream), name_(std::move(name)) {
    ask();
  }
  ~BatchesAhead() {
    if (coming_.valid()) coming_.wait();
  }
  BatchesAhead(const BatchesAhead&) = delete;
  BatchesAhead& operator=(const BatchesAhead&) = delete;

  // Returns whether there is another batch.
  bool next(ArrayOwner& out) {
    out = coming_.get();
    if (out.array.release == nullptr) return false;
    ask();
    return true;
  }

 private:
  void ask() {
    coming_ = std::async(std::launch::async, [this] {
      ArrayOwner batch;
      const int error = stream_->get_next(stream_, &batch.array);
      if (error != 0) {
        batch.array.release = nullptr;
        fail(stream_, name_, error);
      }
      return batch;
    });
  }

  ArrowArrayStream* stream_;
  std::string name_;
  std::future<ArrayOwner> coming_;
};

struct BadRow {
  std::int64_t row;
  std::string why;
};

// The examples of some rows of a batch.
struct Part {
  explicit Part(const RecordLayout& layout) : records(layout) {}

  void encode(const ArrowBatch& batch, std::int64_t begin, std::int64_t end, std::size_t longest) {
    records.clear();
    bad.clear();
    batch.prepare(begin, end, cells);
    for (std::int64_t row = begin; row < end; ++row) {
      std::optional<std::string> why = batch.encode(row, cells, records);
      if (!why && records.bytes_of_open() > longest) {
        why = "the row has more values than fit into a page of the data file";
      }
      if (!why) {
        records.end();
      } else {
        bad.push_back({row, std::move(*why)});
      }
    }
  }

  Records records;
  std::vector<BadRow> bad;
  ArrowBatch::Cells cells;
};

class ArrowConverter {
 public:
  explicit ArrowConverter(const ConvertArrowOptions& options)
      : options_(options),
        encoders_(ColumnEncoder::all(options.schema)),
        layout_(options.schema),
        page_bytes_(DataFileWriter::usual_page_bytes(layout_)),
        longest_(DataFileWriter::longest_record(layout_, page_bytes_)),
        writer_(options.output, options.schema, page_bytes_) {
    for (std::vector<Part>& parts : parts_) parts.assign(kParts, Part(layout_));
  }

  // Returns false if there were too many bad rows.
  bool add(ArrowArrayStream& stream, const std::string& name,
           const std::function<void(const Conversion&)>& progress) {
    SchemaOwner schema;
    const int error = stream.get_schema(&stream, &schema.schema);
    if (error != 0) fail(&stream, name, error);
    const ArrowColumns columns(options_.schema, schema.schema, name);
    name_ = name;
    row_ = 0;
    BatchesAhead batches(stream, name);
    for (ArrayOwner array; batches.next(array);) {
      add(ArrowBatch(encoders_, columns, array.array));
      if (result_.bad > options_.max_bad_rows) return false;
      if (progress) progress(result_);
    }
    return true;
  }

  Conversion stopped() {
    result_.stopped = true;
    return result_;
  }
  Conversion commit() {
    if (writer_.examples() == 0) throw UserError("there is not one example in the data");
    writer_.commit();
    result_.file_bytes = writer_.file_bytes();
    return result_;
  }

 private:
  // Encodes some rows while those before are written. A part is written before it is used again.
  void add(const ArrowBatch& batch) {
    constexpr std::int64_t kAtOnce = kRowsPerPart * static_cast<std::int64_t>(kParts);
    std::size_t written = 0;  // which of the two sets of parts is to be written, how many parts
    for (std::int64_t begin = 0, round = 0; begin < batch.rows() || written > 0; ++round) {
      std::vector<Part>& now = parts_[round % 2];
      std::vector<Part>& before = parts_[(round + 1) % 2];
      const std::int64_t rows = std::min(kAtOnce, batch.rows() - begin);
      const auto count = static_cast<std::size_t>((rows + kRowsPerPart - 1) / kRowsPerPart);
      parallel_for(count + 1, [&](std::size_t task) {
        if (task == 0) {
          for (std::size_t i = 0; i < written; ++i) write(before[i]);
          return;
        }
        const std::int64_t from = begin + static_cast<std::int64_t>(task - 1) * kRowsPerPart;
        now[task - 1].encode(batch, from, std::min(from + kRowsPerPart, begin + rows), longest_);
      });
      begin += rows;
      written = count;
    }
    row_ += static_cast<std::uint64_t>(batch.rows());
    place_ += static_cast<std::uint64_t>(batch.rows());
    result_.lines += static_cast<std::uint64_t>(batch.rows());
    result_.examples = writer_.examples();
    result_.positives = writer_.positives();
  }

  void write(const Part& part) {
    for (const BadRow& bad : part.bad) {
      writer_.leave_hole(place_ + static_cast<std::uint64_t>(bad.row));
      if (result_.first_bad.size() >= kShownBadLines) continue;
      result_.first_bad.push_back({.input = name_,
                                   .line = row_ + static_cast<std::uint64_t>(bad.row) + 1,
                                   .column = 1,
                                   .reason = bad.why});
    }
    result_.bad += part.bad.size();
    writer_.append(part.records);
  }

  const ConvertArrowOptions& options_;
  std::vector<ColumnEncoder> encoders_;
  RecordLayout layout_;
  std::uint32_t page_bytes_;
  std::size_t longest_;
  DataFileWriter writer_;
  std::vector<Part> parts_[2];
  std::string name_;
  std::uint64_t row_ = 0;    // rows of the stream before the batch
  std::uint64_t place_ = 0;  // rows of all streams before the batch
  Conversion result_;
};

}  // namespace

Conversion convert_arrow(
    const ConvertArrowOptions& options,
    const std::function<std::string(std::size_t i, ArrowArrayStream& out)>& next,
    const std::function<void(const Conversion&)>& progress) {
  options.schema.validate();
  ArrowConverter converter(options);
  for (std::size_t i = 0;; ++i) {
    ArrowArrayStream given{};
    const std::string name = next(i, given);
    ArrowStream stream(given);
    if (name.empty()) return converter.commit();
    if (!converter.add(*stream.get(), name, progress)) return converter.stopped();
  }
}

}  // namespace lazydp
