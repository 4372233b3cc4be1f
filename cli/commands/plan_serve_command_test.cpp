// `tilecast plan serve` through the real binary.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/cli_testing.h"

namespace tilecast {
namespace {

using Json = nlohmann::json;

const std::string kSmall =
    "plan serve Llama-3.2-1B --slo ttft=200ms,tpot=9ms --rate 100 --output 128 --gpus H100-SXM,4xA100-SXM-80GB "
    "--engine vllm,sglang --dtype bf16 --num-prompts 300 ";

TEST(PlanServeCli, TextSaysWhatItCostsBreaksAndStarts) {
  const Ran run = run_tilecast(kSmall);
  ASSERT_EQ(run.code, 0) << run.err;
  for (const char* part :
       {"Llama-3.2-1B, 100 requests/s, input 1024, output 128: TTFT 200 ms, TPOT 9.00 ms (p90)", "deployments tried",
        "$/h", "cheapest for its chance: ", "an hour", "margin: TTFT ", "to spare", "80 % interval: TTFT ", "chance",
        "tokens/s/GPU", "tokens/s/user", "in flight", "weights + cache", "seen", "saturates at ",
        "price: ", "start it with (", "meta-llama/Llama-3.2-1B"})
    EXPECT_NE(run.out.find(part), std::string::npos) << part << "\n" << run.out;
  EXPECT_EQ(run.out, run_tilecast(kSmall).out);  // nothing depends on time or chance
  // Where answers have time, the end of throughput comes first, which runs that end show later.
  const Ran patient = run_tilecast(
      "plan serve Llama-3.2-1B --slo ttft=200ms,tpot=20ms --rate 100 --output 128 --gpus H100-SXM,4xA100-SXM-80GB "
      "--engine vllm,sglang --dtype bf16 --num-prompts 300");
  EXPECT_NE(patient.out.find(": throughput; simulated runs, which end, miss T"), std::string::npos) << patient.out;
  // Slower cards miss an objective before their throughput is all taken.
  const Ran slower = run_tilecast(
      "plan serve Llama-3.2-1B --slo ttft=200ms,tpot=9ms --rate 100 --output 128 --gpus 4xL40S --engine vllm "
      "--dtype bf16 --num-prompts 300");
  EXPECT_NE(slower.out.find("breaks first: TPOT, at "), std::string::npos) << slower.out;
}

TEST(PlanServeCli, JsonAddsUp) {
  const Ran run = run_tilecast(kSmall + "--price 2 --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json plan = Json::parse(run.out);
  EXPECT_GT(plan["tried"].get<int>(), 50);
  const Json& best = plan["best"];
  EXPECT_EQ(best["usd_per_hour"].get<double>(), 2.0 * best["gpus"].get<int>());
  EXPECT_NEAR(best["usd_per_million_output_tokens"].get<double>(),
              best["usd_per_hour"].get<double>() / (100 * 128 * 3600 / 1e6), 1e-9);
  EXPECT_LE(best["simulated"]["ttft_ms"].get<double>(), 200);
  EXPECT_LE(best["simulated"]["tpot_ms"].get<double>(), 8);
  EXPECT_TRUE(best["simulated"]["meets"].get<bool>());
  EXPECT_GT(plan["breaks"]["rate"].get<double>(), 100);
  ASSERT_FALSE(plan["front"].empty());
  EXPECT_LE(plan["front"][0]["usd_per_hour"].get<double>(), best["usd_per_hour"].get<double>());
  const Json& simulated = best["simulated"];
  EXPECT_NEAR(simulated["output_tokens_per_second_per_gpu"].get<double>(), 100.0 * 128 / best["gpus"].get<int>(), 1e-6);
  EXPECT_GT(simulated["chance"].get<double>(), 0.2);
  EXPECT_LE(simulated["tpot_interval_ms"][0].get<double>(), simulated["tpot_ms"].get<double>());
  EXPECT_GE(simulated["tpot_interval_ms"][1].get<double>(), simulated["tpot_ms"].get<double>());
  EXPECT_GT(best["pool"]["memory_gib"]["weights"].get<double>(), 2);
  // The command has exactly the plan's limits.
  const std::string limit = best["engine"] == "vllm" ? "--max-num-seqs " : "--max-running-requests ";
  const std::string launch = plan["launch"].dump();
  EXPECT_NE(launch.find(limit + best["pool"]["max_num_seqs"].dump()), std::string::npos) << launch;
}

TEST(PlanServeCli, PoolsApart) {
  const Ran run = run_tilecast(kSmall + "--disaggregated --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json plan = Json::parse(run.out);
  ASSERT_TRUE(plan.contains("best")) << run.out;
  const Json& best = plan["best"];
  EXPECT_EQ(best["gpus"].get<int>(), best["pool"]["gpus"].get<int>() + best["prefill_pool"]["gpus"].get<int>());
  // Limits of both pools stand in the table.
  const Ran text = run_tilecast(kSmall + "--disaggregated");
  const auto limits = [](const Json& pool) {
    const Json& step =
        pool["chunked_prefill_size"].get<int>() > 0 ? pool["chunked_prefill_size"] : pool["max_num_batched_tokens"];
    return pool["max_num_seqs"].dump() + " / " + step.dump();
  };
  EXPECT_NE(text.out.find(limits(best["prefill_pool"]) + "; " + limits(best["pool"])), std::string::npos) << text.out;
}

// Every script reads as one, every manifest parses, whatever the engine and the layout.
void expect_sound(const std::string& folder) {
  const Ran scripts = run_shell("for f in '" + folder + "'/plan-*/*.sh; do bash -n \"$f\" || exit 1; done");
  EXPECT_EQ(scripts.code, 0) << scripts.err;
  if (run_shell("command -v shellcheck").code == 0) {
    const Ran checked = run_shell("shellcheck '" + folder + "'/plan-*/*.sh");
    EXPECT_EQ(checked.code, 0) << checked.out;
  }
  if (run_shell("python3 -c 'import yaml'").code != 0) {
    std::printf("python3 has no yaml: manifests were not parsed\n");
    return;
  }
  const Ran parsed = run_shell(
      "python3 -c 'import sys, yaml, json\n"
      "for f in sys.argv[1:]:\n"
      "  docs = list(yaml.safe_load_all(open(f)))\n"
      "  assert docs, f\n"
      "  if f.endswith(\"compose.yaml\"): assert all(s[\"entrypoint\"] for s in docs[0][\"services\"].values()), f\n"
      "' '" +
      folder + "'/plan-*/*.yaml");
  EXPECT_EQ(parsed.code, 0) << parsed.err;
}

TEST(PlanServeCli, SavesWhatStartsIt) {
  for (const std::string engine : {"vllm", "sglang", "trtllm"})
    for (const std::string layout : {"--aggregated --layout tp2 --rate 400", "--disaggregated --rate 100"}) {
      const std::string folder = scratch_path("plan-" + engine);
      const Ran run = run_tilecast(
          "plan serve Llama-3.2-1B --slo ttft=300ms,tpot=12ms --output 128 --gpus 32xH100-SXM --dtype bf16 "
          "--num-prompts 200 --save-dir " +
          folder + " --engine " + engine + " " + layout);
      ASSERT_EQ(run.code, 0) << run.err;
      for (const char* name : {"plans.json", "plan-1/launch.sh", "plan-1/bench.sh", "plan-1/compose.yaml",
                               "plan-1/kubernetes.yaml", "plan-1/plan.json"})
        EXPECT_FALSE(file_text(folder + "/" + name).empty()) << name;
      EXPECT_EQ(
          file_text(folder + "/plan-1/serve.yaml").empty() && file_text(folder + "/plan-1/generation.yaml").empty(),
          engine != "trtllm");
      const Json plan = Json::parse(file_text(folder + "/plan-1/plan.json"));
      EXPECT_EQ(plan["engine"], engine);
      EXPECT_TRUE(plan["simulated"]["meets"].get<bool>());
      expect_sound(folder);
      run_shell("rm -r '" + folder + "'");
    }
}

// A script that lacks a name says so at once, and starts when it has it.
TEST(PlanServeCli, NamesToFillIn) {
  const std::string folder = scratch_path("plan-blank");
  const Ran run = run_tilecast(
      "plan serve Llama-3.1-8B --slo ttft=2s,tpot=50ms --rate 2 --gpus H100-SXM --engine trtllm --dtype fp8 "
      "--num-prompts 100 --save-dir " +
      folder);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("fp8 *"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("* its files ask for a name: a checkpoint of meta-llama/Llama-3.1-8B in fp8"),
            std::string::npos)
      << run.out;
  EXPECT_EQ(Json::parse(file_text(folder + "/plan-1/plan.json"))["to_fill_in"][0],
            "a checkpoint of meta-llama/Llama-3.1-8B in fp8");
  for (const std::string script : {"launch.sh", "bench.sh"}) {
    const Ran started = run_shell("bash " + folder + "/plan-1/" + script);
    EXPECT_EQ(started.code, 2) << script;
    EXPECT_EQ(std::count(started.err.begin(), started.err.end(), '\n'), 1) << started.err;
    EXPECT_EQ(started.err.find("first fill in a checkpoint of "), 0U) << started.err;
  }
  expect_sound(folder);
  // As the line says it is done; then the guard lets the client be asked for.
  ASSERT_EQ(
      run_shell("cd " + folder +
                "/plan-1 && sed -i 's|NAME-A-CHECKPOINT-IN-FP8-OF-Llama-3.1-8B|some/checkpoint|g' ./*.sh ./*.yaml")
          .code,
      0);
  const Ran filled = run_shell("cd " + folder +
                               "/plan-1 && mkdir bin && printf '#!/bin/sh\\necho \"$@\"\\n' >bin/vllm && "
                               "chmod +x bin/vllm && PATH=\"$PWD/bin:$PATH\" bash bench.sh");
  EXPECT_EQ(filled.code, 0) << filled.err;
  EXPECT_NE(filled.out.find("--model some/checkpoint"), std::string::npos) << filled.out;
  run_shell("rm -r '" + folder + "'");
}

TEST(PlanServeCli, NearestWhereEverythingIsSaturated) {
  const Ran run = run_tilecast("plan serve Llama-3.1-70B --slo ttft=200ms,tpot=5ms --rate 10 --gpus 8xL40S");
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("nearest: 8 × L40S, "), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("requests/s are the most it takes; of requests that come alone TPOT "), std::string::npos)
      << run.err;
}

TEST(PlanServeCli, OtherObjectives) {
  const std::string rest = " --output 128 --gpus 2xH100-SXM --engine vllm --dtype bf16 --num-prompts 200 --json";
  const Ran load = run_tilecast("plan serve Llama-3.2-1B --objective load --slo ttft=300ms,tpot=12ms" + rest);
  ASSERT_EQ(load.code, 0) << load.err;
  EXPECT_GT(Json::parse(load.out)["best"]["simulated"]["rate"].get<double>(), 10);
  const Ran most = run_tilecast("plan serve Llama-3.2-1B --objective throughput" + rest);
  ASSERT_EQ(most.code, 0) << most.err;
  EXPECT_GT(Json::parse(most.out)["best"]["simulated"]["in_flight"].get<int>(), 8);
  const Ran energy = run_tilecast("plan serve Llama-3.2-1B --objective energy --rate 20" + rest);
  ASSERT_EQ(energy.code, 0) << energy.err;
  EXPECT_GT(Json::parse(energy.out)["best"]["simulated"]["joules_per_output_token"].get<double>(), 0);
}

TEST(PlanServeCli, PageAndPictures) {
  const std::string name = scratch_path("plan-page");
  const Ran run = run_tilecast(kSmall + "--html " + name + ".html --svg " + name);
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string page = file_text(name + ".html");
  for (const char* part : {"Throughput of a GPU against speed for a user", "Latency against load", "SLO", "</html>"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("http://www.w3.org/2000/svg"), page.find("http"));  // nothing is fetched
  for (const char* end : {"_pareto.svg", "_load.svg", "_timeline.svg", ".html"}) {
    EXPECT_NE(file_text(name + end).find("</svg>"), std::string::npos) << end;
    std::remove((name + end).c_str());
  }
}

TEST(PlanServeCli, NoneMeets) {
  const Ran run = run_tilecast("plan serve Llama-3.2-1B --slo ttft=1us --rate 5 --gpus 2xH100-SXM --engine vllm");
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("none meets the objectives; nearest: "), std::string::npos) << run.err;
  const Ran json =
      run_tilecast("plan serve Llama-3.2-1B --slo ttft=1us --rate 5 --gpus 2xH100-SXM --engine vllm --json");
  EXPECT_EQ(json.code, 2);
  EXPECT_EQ(json.err, run.err);
  const Json plan = Json::parse(json.out);
  EXPECT_FALSE(plan.contains("best"));
  EXPECT_NE(run.err.find(plan["problem"].get<std::string>()), std::string::npos) << run.err;
  EXPECT_NE(run.err.find(plan["nearest"]["simulated"]["in_the_way"].get<std::string>()), std::string::npos) << run.err;
  EXPECT_FALSE(plan["nearest"]["simulated"]["meets"].get<bool>());
  const Ran large = run_tilecast("plan serve Llama-3.1-405B --slo ttft=1s --rate 5 --gpus 1xRTX-4090 --engine vllm");
  EXPECT_NE(large.err.find("does not fit any of the GPUs"), std::string::npos) << large.err;
  const Ran dear = run_tilecast("plan serve Llama-3.2-1B --slo ttft=1s --rate 5 --gpus H100-SXM --budget 1");
  EXPECT_NE(dear.err.find("allows no copy of the model"), std::string::npos) << dear.err;
}

TEST(PlanServeCli, BadInputIsOneLine) {
  const std::string fine = "plan serve Llama-3.2-1B --slo ttft=1s --rate 5 --gpus H100-SXM ";
  const auto problem = [](const std::string& arguments) {
    const Ran run = run_tilecast(arguments);
    EXPECT_NE(run.code, 0) << arguments;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    return run.err;
  };
  const auto expect = [&](const std::string& arguments, const char* part) {
    const std::string line = problem(arguments);
    EXPECT_NE(line.find(part), std::string::npos) << line;
  };
  expect("plan serve Llama-3.2-1B --slo ttft=1s", "--rate");
  expect("plan serve Llama-3.2-1B --rate 5", "--slo");
  expect("plan serve Llama-3.2-1B --slo ttft=1s --rate 0", "--rate");
  expect("plan serve Llama-3.2-1B --slo ttft=1s --rate nan", "--rate");
  expect("plan serve Llama-3.2-1B --slo speed=1 --rate 5", "'speed=1' is not an objective");
  expect("plan serve BERT-Base --slo ttft=1s --rate 5", "does not generate");
  expect("plan serve Lama-3 --slo ttft=1s --rate 5", "Llama-3");
  expect(fine + "--slo-at p42", "--slo-at");
  expect(fine + "--engine pytorch", "does not serve");
  expect(fine + "--dtype fp7", "fp7");
  expect(fine + "--input 0", "--input");
  expect(fine + "--budget -1", "--budget");
  expect(fine + "--price inf", "--price");
  expect(fine + "--aggregated --disaggregated", "exclude each other");
  expect(fine + "--prefixes -2", "prefixes");
  expect("plan serve Llama-3.2-1B --slo ttft=1s --rate 5 --gpus 0xH100-SXM", "1 to 4096");
  expect(fine + "--objective speed", "--objective");
  expect(fine + "--objective load", "--rate");
  expect(fine + "--prices B200=x", "is not a price");
  expect(fine + "--layout tp0", "is no layout");
  expect(fine + "--min-chance 2", "--min-chance");
  expect(fine + "--save-dir /dev/null", "is there already");
  expect(fine + "--save-dir /no/such/folder", "cannot be written");
  expect(fine + "--save-top 0", "--save-top");
  expect(fine + "--html /no/such/folder/a.html", "cannot be written");
  expect("plan serve Llama-3.2-1B --slo ttft=1s --rate 5 --gpus H1000", "H100");
  expect(fine + "--prices /nowhere.csv", "/nowhere.csv");
  expect(fine + "--input 1000000", "1000000 + 256 tokens are more than the context of Llama-3.2-1B");
  expect(fine + "--max-model-len 1000", "more than max-model-len, 1000");
  expect(fine + "--budget nan", "--budget");
  expect(fine + "--num-prompts -1", "--num-prompts");
}

}  // namespace
}  // namespace tilecast
