#include "lazydp/train/checkpoint.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/train/claim.h"

namespace lazydp {
namespace {

constexpr std::uint64_t kMaxHead = std::uint64_t{1} << 30;

struct Section {
  std::string name;
  std::span<std::byte> bytes;
};

template <class T>
std::span<std::byte> bytes_of(std::span<T> values) {
  return std::as_writable_bytes(values);
}

std::span<float> weights_of(Table& table) {
  return {table.row(0).data(), static_cast<std::size_t>(table.rows()) * table.dim()};
}

// The large parts, in the order of the file. A settled state has no history.
std::vector<Section> sections_of(Trainer& trainer, bool settled) {
  std::vector<Section> sections = {{"dense", bytes_of(trainer.model().parameters())}};
  for (std::size_t k = 0; k < trainer.tables().size(); ++k) {
    const std::string number = std::to_string(k);
    sections.push_back({"table." + number, bytes_of(weights_of(trainer.tables()[k]))});
    History* history = settled ? nullptr : trainer.updates().history(k);
    if (history != nullptr) {
      sections.push_back({"history." + number, bytes_of(history->steps())});
    }
  }
  return sections;
}

Json json_of(std::span<const Section> sections) {
  Json json = Json::array();
  for (const Section& section : sections) {
    json.push_back({{"name", section.name}, {"bytes", section.bytes.size()}});
  }
  return json;
}

std::string hex(const Seed::Bytes& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Seed::Bytes from_hex(const std::string& text) {
  Seed::Bytes bytes{};
  if (text.size() != 2 * bytes.size()) throw IoError("a checkpoint's key is not 16 bytes long");
  const auto digit = [](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    throw IoError("a checkpoint's key is not hexadecimal");
  };
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  }
  return bytes;
}

template <class T>
void write_value(SealedWriter& file, const T& value) {
  file.write(std::as_bytes(std::span(&value, 1)));
}

Json read_json(SealedReader& file) {
  std::uint64_t size = 0;
  file.read(std::as_writable_bytes(std::span(&size, 1)));
  if (size > kMaxHead) throw IoError("a checkpoint's head is too long");
  std::string text(size, '\0');
  file.read(std::as_writable_bytes(std::span(text)));
  return Json::parse(text);
}

}  // namespace

void write_checkpoint(const std::string& path, Trainer& trainer, const Json& settings,
                      const Lock* lock, bool settled, const Seed& seed) {
  check(!settled || trainer.updates().all_settled(trainer.now()), "no row is behind");
  const std::vector<Section> sections = sections_of(trainer, settled);
  const std::string head = Json({{"step", trainer.now()},
                                 {"settled", settled},
                                 {"settings", settings},
                                 {"key", hex(seed.reveal())},
                                 {"key_is_secret", seed.secret()},
                                 {"spent", json_of(trainer.ledger())},
                                 {"no_claim", no_claim(trainer)},
                                 {"unit", trainer.protected_unit()},
                                 {"sections", json_of(sections)}})
                               .dump();
  constexpr mode_t kOwnerOnly = 0600;
  AtomicFile file(path, kOwnerOnly);
  SealedWriter sealed(file, lock);
  write_value(sealed, std::uint64_t{head.size()});
  sealed.write(std::as_bytes(std::span(head)));
  if (!settled) sealed.write(std::as_bytes(trainer.table_clock().steps()));
  for (const Section& section : sections) sealed.write(section.bytes);
  sealed.finish();
  file.commit();
}

CheckpointReader::CheckpointReader(const std::string& path, const Lock* lock)
    : file_(path, lock), head_{.seed = Seed::fixed(0)} {
  try {
    const Json json = read_json(file_);
    head_.step = json.at("step").get<Step>();
    head_.settled = json.at("settled").get<bool>();
    head_.settings = json.at("settings");
    head_.seed = Seed::restored(from_hex(json.at("key").get<std::string>()),
                                json.at("key_is_secret").get<bool>());
    head_.spent = ledger_from(json.at("spent"));
    head_.no_claim = json.at("no_claim").get<std::string>();
    head_.unit = json.at("unit").get<std::string>();
    sections_ = json.at("sections");
  } catch (const Json::exception& error) {
    throw IoError(path + " is damaged: " + error.what());
  }
  head_.clock.resize(head_.step);
  if (!head_.settled) file_.read(std::as_writable_bytes(std::span(head_.clock)));
}

std::string CheckpointReader::no_claim_for(const std::string& unit) const {
  if (head_.step == 0) return "";
  if (!head_.no_claim.empty()) return head_.no_claim;
  if (head_.unit == unit) return "";
  return "its first " + std::to_string(head_.step) + " steps protected " + head_.unit + ", not " +
         unit;
}

void CheckpointReader::restore(Trainer& trainer) {
  const std::vector<Section> sections = sections_of(trainer, head_.settled);
  if (sections_ != json_of(sections)) {
    throw UserError("the checkpoint is of a model of another shape, or of another algorithm");
  }
  for (const Section& section : sections) file_.read(section.bytes);
  file_.finish();
  if (head_.settled) {
    for (std::size_t k = 0; k < trainer.tables().size(); ++k) {
      History* history = trainer.updates().history(k);
      if (history != nullptr) std::ranges::fill(history->steps(), head_.step);
    }
  }
  trainer.restore(head_.spent, head_.clock, no_claim_for(trainer.protected_unit()));
}

}  // namespace lazydp
