#include "lazydp/data/file/data_file_writer.h"

#include <algorithm>
#include <bit>

#include "lazydp/base/error.h"
#include "lazydp/data/schema.h"

namespace lazydp {
namespace {

constexpr std::size_t kPendingBytes = std::size_t{1} << 20;

std::size_t padded(std::size_t bytes, std::size_t page) {
  return (bytes + page - 1) / page * page;
}

template <class Values>
std::span<const std::byte> bytes_of(const Values& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

DataFileWriter::DataFileWriter(const std::string& path, const Schema& schema,
                               std::uint32_t page_bytes)
    : layout_(schema), schema_(schema_text(schema)), file_(path) {
  check(
      std::has_single_bit(page_bytes) && page_bytes >= kMinPageBytes && page_bytes <= kMaxPageBytes,
      "a page is a power of two");
  check(layout_.fixed_bytes() <= longest_record(layout_, page_bytes), "a record fits into a page");
  header_.page_bytes = page_bytes;
  header_.schema_bytes = schema_.size();
  capacity_ = page_bytes - sizeof(PageHeader);
  page_.resize(page_bytes);
  // Leaves room for the header until its numbers are known.
  const std::vector<std::byte> place(padded(sizeof(FileHeader) + schema_.size(), page_bytes));
  file_.write(place);
}

std::uint32_t DataFileWriter::usual_page_bytes(const RecordLayout& layout) {
  constexpr std::size_t kTypicalValues = 64;  // values in all multi columns of an example
  constexpr std::uint32_t kMultiPageBytes = 64 << 10;
  if (layout.fixed()) return layout.good_page_bytes(0);
  return std::max(kMultiPageBytes, layout.good_page_bytes(kTypicalValues));
}

std::size_t DataFileWriter::longest_record(const RecordLayout& layout, std::uint32_t page_bytes) {
  const std::size_t offsets = layout.fixed() ? 0 : 2 * sizeof(std::uint32_t);
  return page_bytes - sizeof(PageHeader) - offsets;
}

void DataFileWriter::append(const Records& records) {
  for (std::size_t i = 0; i < records.size(); ++i) append(records[i]);
}

void DataFileWriter::append(std::span<const std::byte> record) {
  check(record.size() <= longest_record(layout_, header_.page_bytes), "a record fits into a page");
  const std::size_t offsets = layout_.fixed() ? 0 : sizeof(std::uint32_t) * (offsets_.size() + 2);
  if (offsets + records_.size() + record.size() > capacity_) end_page();
  records_.insert(records_.end(), record.begin(), record.end());
  offsets_.push_back(static_cast<std::uint32_t>(records_.size()));
  ++header_.examples;
  if (load<float>(record.data()) > 0.5f) ++header_.positives;
}

void DataFileWriter::end_page() {
  const auto count = static_cast<std::uint32_t>(offsets_.size());
  std::byte* to = page_.data() + sizeof(PageHeader);
  if (!layout_.fixed()) {
    const std::size_t first = sizeof(PageHeader) + sizeof(std::uint32_t) * (count + 1);
    std::vector<std::uint32_t> absolute = {static_cast<std::uint32_t>(first)};
    for (const std::uint32_t end : offsets_) {
      absolute.push_back(static_cast<std::uint32_t>(first + end));
    }
    std::memcpy(to, absolute.data(), bytes_of(absolute).size());
    to += bytes_of(absolute).size();
    directory_.push_back(header_.examples - count);
  }
  std::memcpy(to, records_.data(), records_.size());
  std::fill(to + records_.size(), page_.data() + page_.size(), std::byte{0});
  write_page(count);
  ++header_.pages;
  records_.clear();
  offsets_.clear();
}

// Writes the contents of `page_`, behind its header, as the next page of the file.
void DataFileWriter::write_page(std::uint32_t count) {
  PageHeader header{.count = count};
  std::memcpy(page_.data(), &header, sizeof header);
  header.checksum = page_checksum(page_, header_.pages + header_.directory_pages);
  std::memcpy(page_.data(), &header, sizeof header);
  header_.content = add_to_content(header_.content, header.checksum);
  pending_.insert(pending_.end(), page_.begin(), page_.end());
  if (pending_.size() >= kPendingBytes) flush();
}

// Writes pages of numbers: a directory, or holes.
void DataFileWriter::write_numbers(const std::vector<std::uint64_t>& numbers) {
  const std::size_t per_page = capacity_ / sizeof(std::uint64_t);
  for (std::size_t first = 0; first < numbers.size(); first += per_page) {
    const auto part = bytes_of(numbers).subspan(first * sizeof(std::uint64_t));
    const std::size_t count = std::min(per_page, numbers.size() - first);
    std::fill(page_.begin(), page_.end(), std::byte{0});
    std::memcpy(page_.data() + sizeof(PageHeader), part.data(), count * sizeof(std::uint64_t));
    write_page(static_cast<std::uint32_t>(count));
    ++header_.directory_pages;
  }
}

void DataFileWriter::flush() {
  file_.write(pending_);
  pending_.clear();
}

void DataFileWriter::commit() {
  if (!offsets_.empty()) end_page();
  write_numbers(directory_);
  write_numbers(holes_);
  if (!holes_.empty()) header_.version = kFileVersionWithHoles;
  flush();
  header_.checksum = header_checksum(header_, schema_);
  file_.write_at(0, bytes_of(std::span(&header_, 1)));
  file_.write_at(sizeof header_, bytes_of(schema_));
  file_.commit();
}

}  // namespace lazydp
