#include "lazydp/train/release.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "lazydp/base/atomic_file.h"
#include "lazydp/base/error.h"
#include "lazydp/base/read_text.h"
#include "lazydp/train/checkpoint_folder.h"
#include "lazydp/train/safetensors.h"

namespace lazydp {
namespace {

constexpr const char* kWeights = "/model.safetensors";
constexpr const char* kCard = "/card.json";
constexpr const char* kCardInWeights = "lazydp.card";

Json json_of(const Claim& claim, const std::string& unit, const Json& data) {
  if (!claim.holds) return {{"statement", "no privacy claim"}, {"reason", claim.because}};
  Json json = {
      {"statement", "(epsilon, delta)-differential privacy of the released weights"},
      {"epsilon", claim.epsilon},
      {"delta", claim.delta},
      {"accountant", accountant_name(claim.accountant)},
      {"unit", unit + ", added or removed"},
      {"mechanism", claim.because},
      {"threat_model",
       "whoever sees the released model; intermediate states, metrics, logs and timing are not "
       "published"}};
  const Json::json_pointer learned("/schema/from_data");
  if (data.contains(learned)) {
    json["not_covered"] = "what the schema took from the data: " + data[learned].get<std::string>();
  }
  return json;
}

// Everything but the digest of the weights, which hold a copy of this.
Json card_of(const Trainer& trainer, const Claim& claim, const ReleaseNotes& notes) {
  Json card = {{"format", "lazydp-card"},
               {"version", 1},
               {"program", "lazydp " LAZYDP_VERSION},
               {"claim", json_of(claim, trainer.protected_unit(), notes.data)},
               {"plan", json_of(trainer.plan())},
               {"sampling", trainer.samples_by_poisson() ? "poisson" : "shuffled"},
               {"noise_key", trainer.seed().secret() ? "secret" : "fixed by the user"},
               {"ledger", json_of(trainer.ledger())},
               {"model", json_of(notes.shape)},
               {"data", notes.data}};
  if (notes.metrics) {
    card["metrics"] = {{"auc", notes.metrics->auc},
                       {"logloss", notes.metrics->logloss},
                       {"examples", notes.metrics->examples},
                       {"warning", "computed on private data and not covered by the claim"}};
  }
  return card;
}

std::vector<TensorOut> tensors_of(Model& model, std::span<const Table> tables) {
  std::vector<TensorOut> out;
  const std::span<const float> dense = model.parameters();
  for (const NamedTensor& tensor : model.layout()) {
    std::size_t size = 1;
    for (const std::size_t extent : tensor.shape) size *= extent;
    out.push_back({tensor.name, tensor.shape, dense.subspan(tensor.first_parameter, size)});
  }
  for (std::size_t k = 0; k < tables.size(); ++k) {
    const auto rows = static_cast<std::size_t>(tables[k].rows());
    out.push_back({"tables." + std::to_string(k) + ".weight",
                   {rows, tables[k].dim()},
                   {tables[k].row(0).data(), rows * tables[k].dim()}});
  }
  return out;
}

Json with_digest(Json card, const std::string& digest) {
  card["weights"] = {{"file", "model.safetensors"}, {"blake2b_256", digest}};
  return card;
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

ReleasedModel::ReleasedModel(Trainer& trainer, const ReleaseNotes& notes)
    : claim_(lazydp::claim(trainer, notes.delta)),
      card_(card_of(trainer, claim_, notes)),
      model_(trainer.model()),
      tables_(trainer.tables()) {
  trainer.released_ = true;
}

ReleasedModel release(Trainer&& trainer, const ReleaseNotes& notes,
                      const std::function<void(std::uint64_t)>& progress) {
  trainer.settle_all(progress);
  if (CheckpointFolder* folder = trainer.folder()) folder->replace_by_settled(trainer);
  return {trainer, notes};
}

void ReleasedModel::write(const std::string& folder) const {
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    throw IoError("cannot make " + folder + ": " + std::strerror(errno));
  }
  Json card = card_;
  if (exists(folder + kCard)) {
    Json there = verified_card(folder);
    there.erase("weights");
    // Metrics that somebody wanted out are out: whoever releases again need not have them.
    if (there.contains("metrics") && !card.contains("metrics")) card["metrics"] = there["metrics"];
    if (there != card) {
      throw PrivacyError(folder + " holds another model than this run's; remove it to write this");
    }
  }
  const std::string digest = write_safetensors(folder + kWeights, tensors_of(model_, tables_),
                                               {{"format", "pt"}, {kCardInWeights, card.dump()}});
  const std::string text = with_digest(card, digest).dump(2) + "\n";
  AtomicFile file(folder + kCard, 0644);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

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

}  // namespace lazydp
