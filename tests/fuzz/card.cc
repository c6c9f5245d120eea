// Cards beside weights: an edited one is refused, never taken.

#include "lazydp/release/card.h"

#include <filesystem>
#include <fstream>

#include "lazydp/export/safetensors.h"
#include "tests/fuzz/input.h"

namespace {

// A released model, and links to two files in memory in the place of its own.
struct Released {
  lazydp::MemoryFile card;
  std::string folder;
  std::string good;

  Released() {
    using lazydp::Json, lazydp::TensorSource, lazydp::write_safetensors, lazydp::kCard,
        lazydp::kCardInWeights, lazydp::kWeights;
    folder = (std::filesystem::temp_directory_path() / ("lazydp-fuzz-" + std::to_string(getpid())))
                 .string();
    std::filesystem::create_directory(folder);
    Json said = {{"format", "lazydp-card"}, {"version", 1}, {"ledger", Json::array()}};
    const std::vector<float> values = {1.0f, 2.0f};
    const std::string digest =
        write_safetensors(folder + kWeights, std::vector<TensorSource>{{"a", {2}, values}},
                          {{kCardInWeights, said.dump()}});
    said["weights"] = {{"blake2b_256", digest}};
    good = said.dump();
    std::filesystem::create_symlink(card.path(), folder + kCard);
  }
  ~Released() { std::filesystem::remove_all(folder); }
};

}  // namespace

void lazydp::try_input(const std::uint8_t* data, std::size_t size) {
  static const Released model;
  model.card.put(text_of(data, size));
  refuses_or([&] {
    if (verified_card(model.folder) != Json::parse(model.good)) std::abort();
  });
}
