// Limits of options: what they allow, what they refuse, and that the sentence names the option.
#include "vig/train/options.h"

#include <gtest/gtest.h>

#include "support/errors.h"

namespace vig::test {
namespace {

using train::TrainOptions;

struct Limit {
  const char *name, *good, *bad;  // next to each other, on both sides of the limit
};

TEST(OptionLimits, AreWhereTheSentenceSays) {
  const Limit limits[] = {{"epochs", "1e-6", "9e-7"},
                          {"epochs", "1e9", "1.1e9"},
                          {"batch", "1", "0"},
                          {"batch", "1048576", "1048577"},
                          {"accumulate", "0", "-1"},
                          {"accumulate", "1024", "1025"},
                          {"max-pixels", "1", "0"},
                          {"val-share", "0", "-0.01"},
                          {"val-share", "0.9", "0.91"},
                          {"loaders", "0", "-1"},
                          {"loaders", "256", "257"},
                          {"threads", "0", "-1"},
                          {"threads", "1024", "1025"},
                          {"size", "0", "-1"},
                          {"size", "8192", "8193"},
                          {"eval-every", "1e-6", "9e-7"},
                          {"eval-every", "1e9", "1.1e9"},
                          {"patience", "0", "-1"},
                          {"patience", "1073741824", "1073741825"},
                          {"steps", "0", "-1"},
                          {"loss-group", "8", "-1"},
                          {"loss-group", "32", "3"},
                          {"norm-group", "1", "0"},
                          {"norm-group", "1048576", "1048577"},
                          {"preview", "0", "-1"},
                          {"preview", "10000", "10001"},
                          {"proposal-samples", "1", "0"},
                          {"proposal-samples", "1048576", "1048577"},
                          {"box-samples", "1", "0"},
                          {"box-samples", "1048576", "1048577"},
                          {"lr", "0", "-1e-9"},
                          {"lr", "100", "100.1"},
                          {"lr-batch", "0", "-1"},
                          {"lr-batch", "1e9", "inf"},
                          {"min-lr", "0", "-1e-9"},
                          {"min-lr", "100", "100.1"},
                          {"warmup-lr", "0", "-1e-9"},
                          {"warmup-lr", "100", "100.1"},
                          {"warmup-epochs", "0", "-0.1"},
                          {"warmup-epochs", "1e9", "nan"},
                          {"warmup-steps", "0", "-1"},
                          {"weight-decay", "0", "-0.1"},
                          {"weight-decay", "100", "100.1"},
                          {"beta1", "0", "-0.1"},
                          {"beta1", "0.999999", "1"},
                          {"beta2", "0", "-0.1"},
                          {"beta2", "0.9999999", "1"},
                          {"adam-eps", "1e-30", "1e-31"},
                          {"adam-eps", "1", "1.1"},
                          {"clip", "0", "-0.1"},
                          {"clip", "1e9", "inf"},
                          {"layer-decay", "0.01", "0.009"},
                          {"layer-decay", "1", "1.1"},
                          {"ema", "0", "-0.1"},
                          {"ema", "0.9999999", "1"},
                          {"checkpoint-minutes", "0", "-0.1"},
                          {"checkpoint-minutes", "1e9", "nan"},
                          {"group-timeout", "0.1", "0.09"},
                          {"group-timeout", "1000000", "1000001"},
                          {"lr-drops", "0,1e9", "-1"},
                          {"lr-drops", "8,11.5", "1.1e9"},
                          {"class-weights", "0,1e6", "0,1000001"},
                          {"task", "classify", "Classify"},
                          {"schedule", "linear", "line"},
                          {"sampling", "balanced", "balance"},
                          {"device", "cuda", "gpu"},
                          {"device", "cuda:0", "cuda:-1"},
                          {"device", "cuda:15", "cuda:1x"},
                          {"device", "cpu", "cuda:"}};
  for (const Limit& limit : limits) {
    SCOPED_TRACE(std::string(limit.name) + " " + limit.bad);
    TrainOptions options;
    set_option(options, limit.name, limit.good);
    EXPECT_NO_THROW(check_options(options)) << limit.good;
    set_option(options, limit.name, limit.bad);
    expect_error(ErrorCode::kUsage, {fmt::format("--{} is ", limit.name), "expected "},
                 [&] { check_options(options); });
  }
}

}  // namespace
}  // namespace vig::test
