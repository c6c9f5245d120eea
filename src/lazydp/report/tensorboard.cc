// Writes TensorFlow's record format around two of its protocol buffer messages, Event and Summary:
// a handful of fields of each, encoded by hand. Field numbers are those of tensorflow's event.proto
// and summary.proto.

#include "lazydp/report/tensorboard.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <type_traits>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/io/folder.h"

namespace lazydp {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  constexpr std::uint32_t kCastagnoli = 0x82f63b78;  // reflected polynomial
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCastagnoli : 0);
    table[i] = crc;
  }
  return table;
}

// The format masks checksums of data that itself holds checksums.
std::uint32_t masked_crc(std::string_view bytes) {
  constexpr std::uint32_t kMask = 0xa282ead8;
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + kMask;
}

// The format is little-endian, like this machine.
template <class Number>
std::string bytes_of(Number number) {
  static_assert(std::is_trivially_copyable_v<Number>);
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

enum Wire : std::uint64_t { as_varint = 0, as_fixed64 = 1, as_length = 2, as_fixed32 = 5 };

std::string key(std::uint64_t field, Wire wire) {
  return varint(field << 3 | wire);
}

std::string message(std::uint64_t field, std::string_view content) {
  return key(field, as_length) + varint(content.size()) + std::string(content);
}

// Returns microseconds since 1970.
std::int64_t microseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

// Summary.Value: tag = 1, simple_value = 2; a Summary has them as field 1.
std::string summary_value(std::string_view tag, double value) {
  return message(1, message(1, tag) + key(2, as_fixed32) + bytes_of(static_cast<float>(value)));
}

constexpr std::string_view kBegin = "events.out.tfevents.", kEnd = ".lazydp";
constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kLast = 10'000'000'000 * kSecond;  // names of one length sort as times do

std::string name_of(std::int64_t micros) {
  std::array<char, 32> digits;
  std::snprintf(digits.data(), digits.size(), "%010lld.%06lld",
                static_cast<long long>(micros / kSecond), static_cast<long long>(micros % kSecond));
  return std::string(kBegin) + digits.data() + std::string(kEnd);
}

// Returns the time in a file's name; 0 for a name of another form.
std::int64_t micros_of(std::string_view name) {
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) return 0;
  name = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  std::int64_t seconds = 0, rest = 0;
  const char* end = name.data() + name.size();
  const auto point = std::from_chars(name.data(), end, seconds);
  if (point.ec != std::errc() || point.ptr == end || seconds >= kLast / kSecond) return 0;
  if (std::from_chars(point.ptr + 1, end, rest).ec != std::errc() || rest >= kSecond) return 0;
  return seconds * kSecond + rest;
}

// Returns the current time, or one after every existing file: TensorBoard reads files in the order
// of their names, and the clock may have been set back since the last one.
std::int64_t time_of_new_file(const std::string& folder) {
  std::int64_t time = std::max<std::int64_t>(0, microseconds_now());
  std::error_code ignored;
  for (const std::filesystem::path& file : entries_of(folder, ignored)) {
    time = std::max(time, micros_of(file.filename().string()) + 1);
  }
  return time;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = crc_table();
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes) {
    crc = kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff] ^ (crc >> 8);
  }
  return ~crc;
}

EventFile::EventFile(const std::string& folder, Step begins)
    : micros_(time_of_new_file(folder)), path_(folder + "/" + name_of(micros_)) {
  make_folder(folder, kOwnerFolder);
  const int made = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerFile);
  if (made < 0) throw system_failure("cannot write " + path_);
  close(made);
  file_.open(path_, std::ios::binary | std::ios::app);
  record(event(0, message(3, "brain.Event:2")));
  constexpr char kStart = 1;  // SessionLog: status = 1
  record(event(begins, message(7, key(1, as_varint) + kStart)));
}

// Event: wall_time = 1, step = 2, and one of file_version = 3, summary = 5, session_log = 7.
std::string EventFile::event(Step step, const std::string& what) {
  micros_ = std::max(micros_, microseconds_now());
  const double seconds = static_cast<double>(micros_) / kSecond;
  return key(1, as_fixed64) + bytes_of(seconds) + key(2, as_varint) + varint(step) + what;
}

void EventFile::write(Step step, const Scalars& values) {
  std::string summary;
  for (const auto& [tag, value] : values) {
    if (std::isfinite(value)) summary += summary_value(tag, value);
  }
  if (!summary.empty()) record(event(step, message(5, summary)));
}

void EventFile::record(const std::string& content) {
  const std::string length = bytes_of(std::uint64_t{content.size()});
  file_ << length << bytes_of(masked_crc(length)) << content << bytes_of(masked_crc(content))
        << std::flush;
  if (!file_) throw system_failure("cannot write " + path_);
}

}  // namespace lazydp
