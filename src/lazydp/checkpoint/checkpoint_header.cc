#include "lazydp/checkpoint/checkpoint_header.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/text/json.h"
#include "lazydp/model/score_scaling_json.h"

namespace lazydp {

namespace {

constexpr std::size_t kAtATime = std::size_t{1} << 16;
// A clock's numbers for each step; a file states the count only if it is another.
constexpr std::size_t kUsualNumbers = 2;

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

Json json_of(const SettledRows& rows) {
  if (!rows.exist()) return nullptr;
  return {{"file", rows.name}, {"blake2b_256", rows.blake2b}, {"step", rows.step}};
}

SettledRows settled_rows_from(const Json& json) {
  if (json.is_null()) return {};
  SettledRows rows{.name = json.at("file").get<std::string>(),
                   .blake2b = json.at("blake2b_256").get<std::string>(),
                   .step = natural<Step>(json.at("step"))};
  if (rows.name.empty() || rows.name.find('/') != std::string::npos) {
    throw IoError("a checkpoint names '" + rows.name + "' as a file beside it");
  }
  return rows;
}

Json json_of(const StoredTables& tables) {
  return {{"id", tables.places.id},
          {"epoch", tables.places.epoch},
          {"held", tables.places.held},
          {"seals", tables.places.seals},
          {"settled_rows", json_of(tables.settled)}};
}

StoredTables stored_tables_from(const Json& json) {
  return {.places = {.id = json.at("id").get<std::string>(),
                     .epoch = natural<std::uint32_t>(json.at("epoch")),
                     .held = naturals<RowId>(json.at("held")),
                     .seals = naturals<std::uint64_t>(json.at("seals"))},
          .settled = settled_rows_from(json.at("settled_rows"))};
}

// Allocates memory as bytes are read, not as a number in the file says.
template <class Values>
void read_some(SealedReader& file, std::uint64_t count, Values& values) {
  while (values.size() < count) {
    const auto had = values.size();
    values.resize(had + std::min<std::uint64_t>(count - had, kAtATime));
    file.read(std::as_writable_bytes(std::span(values).subspan(had)));
  }
}

void wipe(std::string& text) {
  explicit_bzero(text.data(), text.size());
}

}  // namespace

void write_json(SealedWriter& file, const Json& json) {
  std::string text = json.dump();
  const std::uint64_t size = text.size();
  file.write(std::as_bytes(std::span(&size, 1)));
  file.write(std::as_bytes(std::span(text)));
  wipe(text);  // the key may be in it
}

Json read_json(SealedReader& file) {
  std::uint64_t size = 0;
  file.read(std::as_writable_bytes(std::span(&size, 1)));
  std::string text;
  read_some(file, size, text);
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  wipe(text);  // the key may be in it
  if (json.is_discarded()) throw IoError(file.path() + " is damaged: its head is no JSON");
  return json;
}

void write_head(SealedWriter& file, const CheckpointHead& head) {
  Json json = {{"step", head.step},
               {"settled", head.settled},
               {"settings", head.settings},
               {"key", hex(head.seed.reveal())},
               {"key_is_secret", head.seed.secret()},
               {"spent", json_of(head.spent)},
               {"no_claim", head.no_claim},
               {"unit", head.unit},
               {"sections", head.sections},
               {"optimizer",
                {{"rule", head.optimizer.rule},
                 {"steps", head.optimizer.steps},
                 {"bytes", head.optimizer.bytes}}}};
  if (head.score_scaling) json["score_scaling"] = json_of(*head.score_scaling);
  if (head.tables) json["tables"] = json_of(*head.tables);
  if (head.parts > 0) {
    json["save"] = head.save;
    json["parts"] = head.parts;
  }
  if (head.numbers_a_step != kUsualNumbers) json["clock_numbers"] = head.numbers_a_step;
  write_json(file, json);
  file.write(std::as_bytes(std::span(head.clock)));
  wipe(json["key"].get_ref<std::string&>());
}

CheckpointHead read_head(SealedReader& file) {
  CheckpointHead head{.seed = Seed::fixed(0)};
  Json json = read_json(file);  // a wrong key is the user's mistake, a failure after it is damage
  try {
    head.step = natural<Step>(json.at("step"));
    head.settled = json.at("settled").get<bool>();
    head.settings = json.at("settings");
    auto& key = json.at("key").get_ref<std::string&>();
    head.seed = Seed::restored(from_hex(key), json.at("key_is_secret").get<bool>());
    wipe(key);
    head.spent = ledger_from(json.at("spent"));
    head.no_claim = json.at("no_claim").get<std::string>();
    head.unit = json.at("unit").get<std::string>();
    head.sections = json.at("sections");
    const Json& optimizer = json.at("optimizer");
    head.optimizer = {.rule = optimizer.at("rule").get<std::string>(),
                      .steps = natural<Step>(optimizer.at("steps")),
                      .bytes = natural<std::uint64_t>(optimizer.at("bytes"))};
    head.save = json.value("save", "");
    if (json.contains("parts")) head.parts = natural<int>(json.at("parts"));
    if (json.contains("clock_numbers")) {
      head.numbers_a_step = natural<std::uint8_t>(json.at("clock_numbers"));
    }
    if (json.contains("score_scaling")) {
      head.score_scaling = score_scaling_from(json.at("score_scaling"));
    }
    if (json.contains("tables")) head.tables = stored_tables_from(json.at("tables"));
  } catch (const Json::exception& error) {
    throw IoError(file.path() + " is damaged: " + error.what());
  } catch (const UserError& error) {
    throw IoError(file.path() + " is damaged: " + error.what());
  }
  if (!head.settled) read_some(file, head.step * head.numbers_a_step, head.clock);
  return head;
}

}  // namespace lazydp
