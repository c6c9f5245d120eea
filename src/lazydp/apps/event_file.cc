// TensorFlow's record format around two of its protocol buffer messages, Event and Summary: a
// handful of fields of each, written here by hand. Field numbers are those of tensorflow's
// event.proto and summary.proto.

#include "lazydp/apps/event_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "lazydp/base/error.h"

namespace lazydp::apps {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  constexpr std::uint32_t kCastagnoli = 0x82f63b78;  // reflected
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kCastagnoli : 0);
    table[i] = crc;
  }
  return table;
}

// A checksum of data that holds checksums is masked, says the format.
std::uint32_t masked_crc(std::string_view bytes) {
  constexpr std::uint32_t kMask = 0xa282ead8;
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + kMask;
}

// Numbers of the format are little-endian, as this machine's.
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

double wall_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// Event: wall_time = 1, step = 2, and one of file_version = 3, summary = 5, session_log = 7.
std::string event(Step step, const std::string& what) {
  return key(1, as_fixed64) + bytes_of(wall_time()) + key(2, as_varint) + varint(step) + what;
}

// Summary.Value: tag = 1, simple_value = 2; a Summary has them as field 1.
std::string summary_value(std::string_view tag, double value) {
  return message(1, message(1, tag) + key(2, as_fixed32) + bytes_of(static_cast<float>(value)));
}

std::string new_file_name() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  return "/events.out.tfevents." + std::to_string(micros / 1'000'000) + "." +
         std::to_string(micros % 1'000'000) + ".lazydp";
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

EventFile::EventFile(const std::string& folder, Step begins) : path_(folder + new_file_name()) {
  const auto failed = [this] {
    return IoError("cannot write " + path_ + ": " + std::strerror(errno));
  };
  constexpr mode_t kOwnerFolder = 0700, kOwnerFile = 0600;
  if (mkdir(folder.c_str(), kOwnerFolder) != 0 && errno != EEXIST) throw failed();
  const int made = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerFile);
  if (made < 0) throw failed();
  close(made);
  file_.open(path_, std::ios::binary | std::ios::app);
  record(event(0, message(3, "brain.Event:2")));
  constexpr char kStart = 1;  // SessionLog: status = 1
  record(event(begins, message(7, key(1, as_varint) + kStart)));
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
  if (!file_) throw IoError("cannot write " + path_ + ": " + std::strerror(errno));
}

}  // namespace lazydp::apps
