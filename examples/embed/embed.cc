// LazyDP in another program's trainer, which owns the table; the steps on it are private. Learns
// one number for each of 10,000 users from a log that shows a few users at a time.

#include <lazydp/engine/noise_engine.h>
#include <lazydp/privacy/accountant.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <vector>

int main() {
  constexpr std::size_t kUsers = 10'000, kDim = 16;
  constexpr double kRate = 0.02, kClip = 1.0, kNoise = 1.0, kDelta = 1e-6;
  std::vector<float> weights(kUsers * kDim);  // the trainer's own table

  const lazydp::BorrowedTable table{weights, kDim};
  lazydp::NoiseEngine engine({&table, 1}, {});
  lazydp::Ledger ledger;

  std::mt19937_64 random(
      std::random_device{}());  // a real trainer draws batches from a secure source
  std::bernoulli_distribution joins(kRate);
  std::vector<lazydp::RowId> users;
  std::vector<float> gradients, squared;
  for (int step = 1; step <= 200; ++step) {
    users.clear();  // a Poisson sample: it may be empty, and is still a step
    for (std::size_t user = 0; user < kUsers; ++user) {
      if (joins(random)) users.push_back(static_cast<lazydp::RowId>(user));
    }

    engine.settle(0, users);  // now these rows carry the noise of all steps so far: read them
    gradients.assign(users.size() * kDim, 0.0f);
    for (std::size_t i = 0; i < users.size(); ++i) {
      const float target = users[i] % 2 == 0 ? 1.0f : -1.0f;
      for (std::size_t d = 0; d < kDim; ++d) {
        gradients[i * kDim + d] = weights[static_cast<std::size_t>(users[i]) * kDim + d] - target;
      }
    }

    const lazydp::BagGradients sum{users, {}, gradients};  // clip each example, then add up
    squared.assign(users.size(), 0.0f);
    lazydp::add_squared_norms(sum, squared);
    for (std::size_t i = 0; i < users.size(); ++i) {
      const float factor = std::min(1.0f, static_cast<float>(kClip) / std::sqrt(squared[i]));
      for (std::size_t d = 0; d < kDim; ++d) gradients[i * kDim + d] *= factor;
    }

    engine.step({.learning_rate = 20.0,
                 .clip_norm = kClip,
                 .noise_multiplier = kNoise,
                 .expected_batch = kRate * kUsers},
                {&sum, 1});
    ledger.record({.sampling_rate = kRate, .noise_multiplier = kNoise, .steps = 1});
  }
  engine.settle_all();  // before a table is saved, published or compared: no row is behind

  std::cout << "LazyDP " << lazydp::library_version() << ": " << engine.steps()
            << " steps, epsilon " << lazydp::epsilon(ledger, kDelta, lazydp::Accountant::pld)
            << " at delta " << kDelta << (engine.all_settled() ? ", all rows settled\n" : "\n");
}
