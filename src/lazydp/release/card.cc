#include "lazydp/release/card.h"

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/export/safetensors.h"

namespace lazydp {

Json verified_card(const std::string& folder) {
  const auto edited = [&folder](const std::string& what) {
    return PrivacyError(folder + ": " + what +
                        "; the claim is about the files as they were released");
  };
  Json card;
  try {
    card = Json::parse(read_text(folder + kCard));
  } catch (const Json::exception&) {
    throw edited("card.json was edited: it is no longer JSON");
  }
  const SafetensorsFile weights = [&] {
    try {
      return SafetensorsFile(folder + kWeights);
    } catch (const UserError& error) {
      throw edited(std::string("model.safetensors was edited (") + error.what() + ")");
    }
  }();
  const auto inside = weights.metadata().find(kCardInWeights);
  if (inside == weights.metadata().end()) throw edited("model.safetensors has lost its card");
  Json said = card;
  if (said.is_object()) said.erase("weights");
  if (said.dump() != inside->second) throw edited("card.json was edited");
  const Json::json_pointer where("/weights/blake2b_256");
  if (!card.contains(where) || card[where] != weights.digest()) {
    throw edited("model.safetensors was edited");
  }
  return card;
}

Metadata metadata_of(const Json& card) {
  return {{"format", "pt"}, {kCardInWeights, card.dump()}};
}

void write_card(const std::string& folder, Json card, const std::string& digest) {
  card["weights"] = {{"file", "model.safetensors"}, {"blake2b_256", digest}};
  write_text(folder + kCard, card.dump(2) + "\n", kReadableFile);
}

bool has_int8_rows(const Json& card) {
  return card.contains("rows");
}

}  // namespace lazydp
