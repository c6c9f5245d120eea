#include "lazydp/release/release.h"

#include <sys/stat.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/io/folder.h"
#include "lazydp/base/version.h"
#include "lazydp/checkpoint/checkpoint_folder.h"
#include "lazydp/data/privacy_units.h"
#include "lazydp/export/export_weights.h"
#include "lazydp/export/safetensors.h"
#include "lazydp/privacy/composition.h"

namespace lazydp {
namespace {

Json json_of(const Claim& claim, const std::string& unit, bool blanked, const Json& data) {
  if (!claim.holds) return {{"statement", "no privacy claim"}, {"reason", claim.because}};
  Json json = {
      {"statement", "(epsilon, delta)-differential privacy of the released weights"},
      {"epsilon", claim.epsilon},
      {"delta", claim.delta},
      {"accountant", accountant_name(claim.accountant)},
      {"unit", unit + (blanked ? ", blanked where it stands" : ", added or removed")},
      {"mechanism", claim.because},
      {"threat_model",
       "whoever sees the released model; intermediate states, metrics, logs and timing are not "
       "published"}};
  if (claim.confidence < 1) json["confidence"] = claim.confidence;
  const Json::json_pointer learned("/schema/from_data");
  if (data.contains(learned)) {
    json["not_covered"] = "what the schema took from the data: " + data[learned].get<std::string>();
  }
  return json;
}

// Describes the search that chose a model: what was public of it before it began.
Json json_of(const PrivateSearch& search) {
  return {{"statement",
           "the hyper-parameters were chosen by a private search over a public grid, which epsilon "
           "pays for; the other trials' models, their number and all scores stay secret"},
          {"candidates", search.candidates},
          {"trials", "truncated negative binomial"},
          {"eta", search.trials.eta},
          {"gamma", search.trials.gamma},
          {"expected_trials", mean_trials(search.trials)},
          {"score_noise_multiplier", search.score_noise}};
}

// Says in words what a program does with values before the model reads them.
Json input_in_words() {
  return {
      {"preprocessing",
       "as data.schema says: a dense value is a number, or log(1 + x) of it; any other is hashed "
       "to a row by XXH3 under the schema's salt and the column's name; steps and test vectors "
       "are in LazyDP's documentation, docs/serving.md"},
      {"missing_value",
       "a value that is not there, or is listed in data.schema.missing, is the number 0 in a "
       "dense column and row 0 of the table in any other; a bag without values is row 0 alone"}};
}

// Makes the card, all but the digest of the weights: their file holds a copy of the card.
Json card_of(const Trainer& trainer, const Claim& claim, const ReleaseNotes& notes) {
  Json card = {{"format", "lazydp-card"},
               {"version", 1},
               {"program", std::string("lazydp ") + version()},
               {"claim", json_of(claim, trainer.sampler().unit(),
                                 blanks_an_example(trainer.ledger()), notes.data)},
               {"plan", json_of(trainer.plan())},
               {"sampling", sampling_name(trainer.sampler().sampling())},
               {"noise_key", trainer.seed().secret() ? "secret" : "fixed by the user"},
               {"ledger", json_of(trainer.ledger())},
               {"model", json_of(notes.shape)},
               {"data", notes.data}};
  if (const auto& scaling = trainer.score_scaling()) {
    card["model"]["score_scaling"] = json_of(*scaling);
  }
  if (notes.data.contains("schema")) card["input"] = input_in_words();
  if (notes.search && claim.holds) card["claim"]["search"] = json_of(*notes.search);
  if (notes.metrics) {
    card["metrics"] = {{"auc", notes.metrics->auc},
                       {"logloss", notes.metrics->logloss},
                       {"normalised_entropy", notes.metrics->normalised_entropy},
                       {"calibration", notes.metrics->calibration},
                       {"examples", notes.metrics->examples},
                       {"warning", "computed on private data and not covered by the claim"}};
  }
  if (trainer.sampler().unit() != kExampleUnit) {
    card["a_sampled_unit_sends"] = sent_in_words(trainer.plan().examples_per_unit);
  }
  if (notes.metrics && !std::isnan(notes.metrics->gauc)) {
    card["metrics"]["gauc"] = notes.metrics->gauc;
    card["metrics"]["ndcg"] = notes.metrics->ndcg;
    card["metrics"]["recall"] = notes.metrics->recall;
    card["metrics"]["cutoff"] = notes.metrics->cutoff;
  }
  return card;
}

}  // namespace

ReleasedModel::ReleasedModel(std::unique_ptr<Trainer> trainer, const ReleaseNotes& notes,
                             const ReleaseProgress& progress)
    : trainer_(std::move(trainer)) {
  check(trainer_ != nullptr, "a trainer is released once");
  if (!trainer_->state().storage.in_files()) trainer_->settle_all(progress);
  claim_ = notes.search ? claim_of_best(*trainer_, *notes.search, notes.delta)
                        : lazydp::claim(*trainer_, notes.delta);
  card_ = card_of(*trainer_, claim_, notes);
}

void ReleasedModel::replace_state(CheckpointFolder& folder, const ReleaseProgress& progress) {
  folder.replace_by_settled(*trainer_, metadata_of(card_), progress);
  if (!folder.settled_rows().empty()) settled_ = {folder.settled_rows(), folder.settled_digest()};
}

ReleasedModel release(std::unique_ptr<Trainer> trainer, const ReleaseNotes& notes,
                      const ReleaseProgress& progress) {
  if (trainer != nullptr && trainer->kept()) {
    throw PrivacyError(
        "an unsettled state of this run is kept in a folder, from which it could go on with other "
        "noise; release it together with the folder");
  }
  return {std::move(trainer), notes, progress};
}

ReleasedModel release(std::unique_ptr<Trainer> trainer, const ReleaseNotes& notes,
                      CheckpointFolder& folder, const ReleaseProgress& progress) {
  ReleasedModel model(std::move(trainer), notes, progress);
  model.replace_state(folder, progress);
  return model;
}

// Links to the settled state's own file, if that has tables in files and the same metadata: no
// second copy.
bool ReleasedModel::take_settled_rows(const std::string& path, const Metadata& metadata) const {
  if (!settled_) return false;
  const std::string& rows = settled_->path;
  if (SafetensorsFile(rows).metadata() != metadata) return false;
  std::error_code ignored;
  const std::string name = path + ".new";
  std::filesystem::remove(name, ignored);
  std::filesystem::create_hard_link(rows, name, ignored);
  if (ignored) return false;  // not every file system has hard links
  if (chmod(name.c_str(), kReadableFile) != 0 || rename(name.c_str(), path.c_str()) != 0) {
    throw system_failure("cannot write '" + path + "'");
  }
  flush_folder(std::filesystem::path(path).parent_path().string());
  return true;
}

void ReleasedModel::write(const std::string& folder) const {
  CommThread& ranks = trainer_->state().comm;
  if (ranks.rank() == 0) {
    write_here(folder);
  } else {
    send_rows_to_first_rank(*trainer_);
  }
  ranks.run([](Communicator& all) { all.barrier(); });
}

void ReleasedModel::write_here(const std::string& folder) const {
  make_folder(folder, kReadableFolder);
  Json card = card_;
  if (exists(folder + kCard)) {
    Json there = verified_card(folder);
    there.erase("weights");
    // Metrics that the user published stay published: a second release need not repeat them.
    if (there.contains("metrics") && !card.contains("metrics")) card["metrics"] = there["metrics"];
    // A card of an earlier version says less about its data.
    for (const char* key : {"split", "neighbours"}) {
      if (there.contains("data") && !there["data"].contains(key)) card["data"].erase(key);
    }
    if (!there.contains("input")) card.erase("input");
    if (there != card) {
      throw PrivacyError(folder + " holds another model than this run's; remove it to write this");
    }
  }
  const std::string weights = folder + kWeights;
  const Metadata metadata = metadata_of(card);
  const std::string digest = take_settled_rows(weights, metadata)
                                 ? settled_->blake2b
                                 : write_safetensors(weights, export_weights(*trainer_), metadata);
  write_card(folder, card, digest);
}

}  // namespace lazydp
