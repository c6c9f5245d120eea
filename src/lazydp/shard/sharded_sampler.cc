#include "lazydp/shard/sharded_sampler.h"

#include <cstddef>

namespace lazydp {
namespace {

class PartOfSample final : public Sampler {
 public:
  PartOfSample(const Sampler& whole, int rank, int ranks)
      : whole_(whole), rank_(rank), ranks_(ranks) {}

  void draw(Step t, std::vector<ExampleId>& examples) const override {
    whole_.draw(t, examples);
    keep_part(examples, rank_, ranks_);
  }
  bool poisson() const override { return whole_.poisson(); }
  double rate() const override { return whole_.rate(); }
  bool secret() const override { return whole_.secret(); }
  std::string unit() const override { return whole_.unit(); }

 private:
  const Sampler& whole_;
  int rank_;
  int ranks_;
};

}  // namespace

void keep_part(std::vector<ExampleId>& examples, int rank, int ranks) {
  const auto boundary = [&](int r) {
    return static_cast<std::ptrdiff_t>(examples.size() * static_cast<std::size_t>(r) /
                                       static_cast<std::size_t>(ranks));
  };
  const std::ptrdiff_t first = boundary(rank);
  const std::ptrdiff_t last = boundary(rank + 1);
  examples.erase(examples.begin() + last, examples.end());
  examples.erase(examples.begin(), examples.begin() + first);
}

std::unique_ptr<Sampler> make_part_of_sample(const Sampler& whole, int rank, int ranks) {
  return std::make_unique<PartOfSample>(whole, rank, ranks);
}

}  // namespace lazydp
