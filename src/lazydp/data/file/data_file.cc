#include "lazydp/data/file/data_file.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/data/samplers.h"
#include "lazydp/data/schema.h"

namespace lazydp {
namespace {

constexpr std::size_t kPagesPerTask = 64;

}  // namespace

DataFile::DataFile(const std::string& path, std::uint64_t memory)
    : file_(path, MappedFile::Access::random) {
  read_header();
  larger_than_memory_ = bytes() > memory;
  if (!layout_.fixed()) read_directory();
  read_holes();
  checked_ = std::make_unique<std::atomic<bool>[]>(header_.pages);
}

void DataFile::damaged(const std::string& what) const {
  throw IoError("the data file '" + path() + "' is damaged: " + what);
}

// Compares sizes as quotients, so that no product of the file's own numbers can overflow.
void DataFile::read_header() {
  const std::span<const std::byte> all = file_.bytes();
  if (all.size() < sizeof header_ || load<std::uint64_t>(all.data()) != kFileMagic) {
    throw UserError("'" + path() +
                    "' is not a LazyDP data file; lazydp convert makes one of a log");
  }
  header_ = load<FileHeader>(all.data());
  if (header_.version != kFileVersion && header_.version != kFileVersionWithHoles) {
    throw UserError("'" + path() + "' is a data file of version " +
                    std::to_string(header_.version) + "; this program reads versions " +
                    std::to_string(kFileVersion) + " and " + std::to_string(kFileVersionWithHoles));
  }
  if (header_.schema_bytes > all.size() - sizeof header_) damaged("its header is cut short");
  const std::string_view schema(reinterpret_cast<const char*>(all.data()) + sizeof header_,
                                header_.schema_bytes);
  if (header_checksum(header_, schema) != header_.checksum) {
    damaged("the checksum of its header is wrong");
  }
  const std::uint64_t page = header_.page_bytes;
  if (!std::has_single_bit(page) || page < kMinPageBytes || page > kMaxPageBytes) {
    damaged("its pages have " + std::to_string(page) + " bytes");
  }
  const std::uint64_t first = (sizeof header_ + schema.size() + page - 1) / page;
  const std::uint64_t pages = all.size() / page;
  if (all.size() % page != 0 || pages < first || header_.pages > pages - first ||
      header_.directory_pages != pages - first - header_.pages) {
    damaged("it has " + std::to_string(all.size()) + " bytes, which its header does not tell");
  }
  const auto padding =
      all.subspan(sizeof header_ + schema.size(), first * page - sizeof header_ - schema.size());
  if (std::ranges::any_of(padding, [](std::byte b) { return b != std::byte{0}; })) {
    damaged("there is something behind its schema");
  }
  schema_ = parse_schema(schema, "the schema in '" + path() + "'");
  layout_ = RecordLayout(schema_);
  pages_ = all.data() + first * page;
  if (layout_.fixed_bytes() > page - sizeof(PageHeader))
    damaged("an example is larger than a page");
  if (header_.examples > kMaxExamples) damaged("it has too many examples");
  if (!layout_.fixed()) return;
  per_page_ = layout_.per_page(header_.page_bytes);
  if (header_.pages != (header_.examples + per_page_ - 1) / per_page_) {
    damaged("its pages do not add up to its examples");
  }
}

// Returns the numbers of these pages, whose count is that of their headers: all but the last page
// are full.
std::vector<std::uint64_t> DataFile::read_numbers(std::uint64_t first_page,
                                                  std::uint64_t end_page) const {
  const std::size_t per_page = (header_.page_bytes - sizeof(PageHeader)) / sizeof(std::uint64_t);
  std::vector<std::uint64_t> numbers;
  numbers.reserve((end_page - first_page) * per_page);
  for (std::uint64_t i = first_page; i < end_page; ++i) {
    const std::span<const std::byte> entries = page(i);
    const auto head = load<PageHeader>(entries.data());
    const bool full = head.count == per_page;
    const bool last = i + 1 == end_page && head.count > 0 && head.count <= per_page;
    if (page_checksum(entries, i) != head.checksum || !(full || last)) {
      damaged("the checksum of its directory is wrong");
    }
    for (std::size_t j = 0; j < head.count; ++j) {
      numbers.push_back(
          load<std::uint64_t>(entries.data() + sizeof head + j * sizeof(std::uint64_t)));
    }
  }
  return numbers;
}

namespace {

bool ascend(std::span<const std::uint64_t> numbers) {
  return std::ranges::adjacent_find(numbers, std::greater_equal<>()) == numbers.end();
}

}  // namespace

std::uint64_t DataFile::directory_pages() const {
  if (layout_.fixed()) return 0;
  const std::size_t per_page = (header_.page_bytes - sizeof(PageHeader)) / sizeof(std::uint64_t);
  return (header_.pages + per_page - 1) / per_page;
}

void DataFile::read_directory() {
  if (header_.directory_pages < directory_pages()) damaged("its directory does not fit its pages");
  directory_ = read_numbers(header_.pages, header_.pages + directory_pages());
  if (directory_.size() != header_.pages) damaged("its directory does not fit its pages");
  directory_.push_back(header_.examples);
  if (directory_.front() != 0 || !ascend(directory_)) damaged("its directory is not in order");
}

void DataFile::read_holes() {
  const std::uint64_t first = header_.pages + directory_pages();
  const std::uint64_t end = header_.pages + header_.directory_pages;
  const bool may_have = header_.version == kFileVersionWithHoles;
  if (first > end || (first < end) != may_have) damaged("its pages do not add up to its examples");
  holes_ = read_numbers(first, end);
  if (!ascend(holes_) || places() > kMaxExamples ||
      (!holes_.empty() && holes_.back() >= places())) {
    damaged("its holes are not in order");
  }
}

std::uint64_t DataFile::place_of(ExampleId example) const {
  // Hole j has holes_[j] - j examples before it.
  std::uint64_t low = 0;
  std::uint64_t high = holes_.size();
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (holes_[middle] - middle <= example) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return example + low;
}

ExampleId DataFile::examples_before(std::uint64_t place) const {
  const auto holes = std::ranges::lower_bound(holes_, place) - holes_.begin();
  return place - static_cast<std::uint64_t>(holes);
}

std::vector<RowId> DataFile::table_rows() const {
  std::vector<RowId> rows;
  for (const RecordLayout::TableSlot& table : layout_.tables) rows.push_back(table.rows);
  return rows;
}

std::span<const std::byte> DataFile::page(std::uint64_t number) const {
  return {pages_ + number * header_.page_bytes, header_.page_bytes};
}

std::uint64_t DataFile::page_of(ExampleId example) const {
  if (layout_.fixed()) return example / per_page_;
  const auto after = std::ranges::upper_bound(directory_, example);
  return static_cast<std::uint64_t>(after - directory_.begin()) - 1;
}

void DataFile::check_page(std::uint64_t number) const {
  const std::span<const std::byte> bytes = page(number);
  const auto head = load<PageHeader>(bytes.data());
  const std::string which = "page " + std::to_string(number + 1);
  if (page_checksum(bytes, number) != head.checksum)
    damaged("the checksum of " + which + " is wrong");
  const std::uint64_t count =
      layout_.fixed() ? std::min<std::uint64_t>(per_page_, header_.examples - number * per_page_)
                      : directory_[number + 1] - directory_[number];
  if (head.count != count) damaged(which + " has another number of examples than it should");
  if (layout_.fixed()) {
    for (std::size_t i = 0; i < count; ++i) {
      check_record(bytes.subspan(sizeof head + i * layout_.fixed_bytes(), layout_.fixed_bytes()),
                   number);
    }
    return;
  }
  const std::byte* offsets = bytes.data() + sizeof head;
  std::uint64_t from = sizeof head + sizeof(std::uint32_t) * (count + 1);
  if (from > bytes.size() || word(offsets, 0) != from) damaged(which + " has wrong offsets");
  for (std::size_t i = 1; i <= count; ++i) {
    const std::uint64_t to = word(offsets, i);
    if (to < from + layout_.fixed_bytes() || to > bytes.size()) {
      damaged(which + " has wrong offsets");
    }
    check_record(bytes.subspan(from, to - from), number);
    from = to;
  }
}

void DataFile::check_record(std::span<const std::byte> record, std::uint64_t page_number) const {
  const auto label = load<float>(record.data());
  bool good = label == 0.0f || label == 1.0f;
  for (std::size_t i = 0; i < layout_.dense; ++i) {
    // False for a NaN, too.
    good &= std::abs(load<float>(record.data() + sizeof(float) * (1 + i))) <=
            static_cast<float>(kLargestDense);
  }
  std::uint64_t values = 0;
  for (std::size_t i = 0; i < layout_.multi; ++i)
    values += word(record.data() + layout_.counts_at(), i);
  good &= record.size() == layout_.fixed_bytes() + sizeof(std::uint32_t) * values;
  const std::byte* many = record.data() + layout_.fixed_bytes();
  for (const RecordLayout::TableSlot& table : layout_.tables) {
    const bool in_record = good;  // the counts add up to the record's size
    if (!table.multi) {
      good &= word(record.data() + layout_.ids_at(), table.place) < table.rows;
    } else if (in_record) {
      const std::uint32_t count = word(record.data() + layout_.counts_at(), table.place);
      for (std::size_t j = 0; j < count; ++j) good &= word(many, j) < table.rows;
      many += sizeof(std::uint32_t) * count;
    }
  }
  if (!good) damaged("page " + std::to_string(page_number + 1) + " holds an impossible example");
}

void DataFile::check_all_pages() const {
  parallel_blocks(header_.pages, kPagesPerTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) check_page(i);
  });
  std::uint64_t content = 0;
  for (std::uint64_t i = 0; i < header_.pages + header_.directory_pages; ++i) {
    content = add_to_content(content, load<PageHeader>(page(i).data()).checksum);
  }
  if (content != header_.content) damaged("a page is not the one that was written");
}

// If several threads are first to read a page, each of them checks it.
const std::byte* DataFile::find(ExampleId example) const {
  check(example < header_.examples, "example within the data set");
  const std::uint64_t number = page_of(example);
  if (!checked_[number].load(std::memory_order_acquire)) {
    check_page(number);
    checked_[number].store(true, std::memory_order_release);
  }
  const std::byte* start = page(number).data();
  if (layout_.fixed()) {
    return start + sizeof(PageHeader) + (example % per_page_) * layout_.fixed_bytes();
  }
  return start + word(start + sizeof(PageHeader), example - directory_[number]);
}

Schema read_schema(const std::string& path) {
  const MappedFile file(path, MappedFile::Access::sequential);
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() >= sizeof kFileMagic && load<std::uint64_t>(bytes.data()) == kFileMagic) {
    return DataFile(path).schema();
  }
  return parse_schema({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

}  // namespace lazydp
