// An exchange can be used in one order only: what comes too early does not compile, what comes
// twice is caught.

#include "lazydp/shard/row_exchange.h"

#include <gtest/gtest.h>

#include <concepts>
#include <type_traits>
#include <utility>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

template <class Handle>
concept CanSettleAndPool = requires(Handle handle, const Batch& batch, TableOptimizer& optimizer,
                                    StageClock& stages) {
  std::move(handle).settle_and_pool(1, batch, optimizer, {}, stages, {});
};
template <class Handle>
concept CanSend = requires(Handle handle, StageClock& stages) {
  std::move(handle).send({}, stages);
};
template <class Handle>
concept CanSendAndStay = requires(Handle& handle, StageClock& stages) {
  handle.send({}, stages);
};
template <class Handle>
concept CanReceive = requires(Handle handle, StageClock& stages) {
  std::move(handle).receive(stages);
};
template <class Handle>
concept CanFinish = requires(Handle handle, StageClock& stages) {
  std::move(handle).finish(stages);
};

// Each state allows the next call, and no other.
static_assert(CanSettleAndPool<RequestedRows>);
static_assert(!CanSend<RequestedRows> && !CanReceive<RequestedRows>);
static_assert(CanSend<PooledRows>);
static_assert(!CanSettleAndPool<PooledRows> && !CanReceive<PooledRows>);
static_assert(CanReceive<SentGradients>);
static_assert(!CanSettleAndPool<SentGradients> && !CanSend<SentGradients>);
static_assert(CanFinish<PendingSum> && !CanReceive<PendingSum>);

// The exchange itself has only the calls with which something begins.
static_assert(!CanSettleAndPool<LocalExchange&> && !CanSend<LocalExchange&>);
static_assert(!CanReceive<RowExchange&> && !CanFinish<RowExchange&>);

// Nothing but the exchange makes a handle, and there are no two of one.
static_assert(!std::constructible_from<PooledRows, RowExchange&, Step>);
static_assert(!std::is_default_constructible_v<PooledRows>);
static_assert(!std::copy_constructible<RequestedRows> && !std::copy_constructible<PendingSum>);

// A call gives the handle up visibly.
static_assert(!CanSendAndStay<PooledRows>);

class RowExchangeTest : public ::testing::Test {
 protected:
  LocalExchange exchange_{Pooling::sum, TableStorage::memory()};
  StageClock stages_;
  Batch batch_;
};

TEST_F(RowExchangeTest, AHandleServesOnce) {
  PendingSum sum = exchange_.begin_sum({}, {1.0f, 2.0f, 3.0f, 4.0f});
  EXPECT_EQ(std::move(sum).finish(stages_), (Tallies{1.0f, 2.0f, 3.0f, 4.0f}));
  EXPECT_FALSE(sum);                                            // NOLINT(bugprone-use-after-move)
  EXPECT_THROW(std::move(sum).finish(stages_), InternalError);  // NOLINT(bugprone-use-after-move)
}

TEST_F(RowExchangeTest, AHandleThatMovedOnIsUsedUp) {
  RequestedRows first = exchange_.ask(1, batch_, stages_);
  const RequestedRows second = std::move(first);
  EXPECT_TRUE(second);
  EXPECT_NO_THROW(second.rows(stages_));
  EXPECT_THROW(first.rows(stages_), InternalError);  // NOLINT(bugprone-use-after-move)
}

TEST_F(RowExchangeTest, NothingIsReceivedBeforeItIsSent) {
  SentGradients sent;
  EXPECT_FALSE(sent);
  EXPECT_THROW(std::move(sent).receive(stages_), InternalError);
}

TEST_F(RowExchangeTest, AStepAsksOnceAndAnEvaluationAsOftenAsItLikes) {
  EXPECT_TRUE(exchange_.ask(1, batch_, stages_));
  EXPECT_THROW(static_cast<void>(exchange_.ask(1, batch_, stages_)), InternalError);
  EXPECT_TRUE(exchange_.ask(0, batch_, stages_));
  EXPECT_TRUE(exchange_.ask(0, batch_, stages_));
  EXPECT_TRUE(exchange_.ask(2, batch_, stages_));
}

TEST_F(RowExchangeTest, RowsOfAStepThatAnotherReplacedAreNotMistakenForIts) {
  const RequestedRows first = exchange_.ask(1, batch_, stages_);
  const RequestedRows third = exchange_.ask(3, batch_, stages_);  // takes the place of step 1
  EXPECT_NO_THROW(third.rows(stages_));
  EXPECT_THROW(first.rows(stages_), InternalError);
}

}  // namespace
}  // namespace lazydp
