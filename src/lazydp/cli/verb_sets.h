#pragma once
// Sets of verbs that take the same flags, for the table of flags.

#include "lazydp/cli/flags.h"

namespace lazydp::cli {

// A resumed run may change these.
inline constexpr std::uint32_t kTrain = train_flags | resume_flags;
inline constexpr std::uint32_t kBench = bench_flags;
inline constexpr std::uint32_t kRuns = kTrain | bench_flags;
inline constexpr std::uint32_t kPaper = paper_flags;
inline constexpr std::uint32_t kCosts = privacy_flags;
inline constexpr std::uint32_t kAudit = audit_flags;
inline constexpr std::uint32_t kMechanism = kTrain | privacy_flags;
inline constexpr std::uint32_t kAll = kRuns | demo_flags;
inline constexpr std::uint32_t kFolder = resume_flags | release_flags;
inline constexpr std::uint32_t kConvertText =
    convert_criteo_flags | convert_csv_flags | convert_jsonl_flags;
inline constexpr std::uint32_t kConvert = kConvertText | convert_parquet_flags;
inline constexpr std::uint32_t kCsv = convert_csv_flags;
inline constexpr std::uint32_t kGenerate = generate_flags;
inline constexpr std::uint32_t kInspect = inspect_flags;
inline constexpr std::uint32_t kScores = eval_flags | predict_flags | export_int8_flags;
inline constexpr std::uint32_t kShapes = kRuns | kGenerate;
inline constexpr std::uint32_t kDataFiles = kConvert | kGenerate | kInspect;
inline constexpr std::uint32_t kOut = kAll | kPaper | release_flags | kCosts | kAudit | kDataFiles |
                                      eval_flags | ledger_flags | compare_flags | export_int8_flags;
inline constexpr std::uint32_t kSweep = sweep_flags;
inline constexpr std::uint32_t kTune = tune_flags;
inline constexpr std::uint32_t kLedger = ledger_flags;

}  // namespace lazydp::cli
