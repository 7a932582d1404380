// What is recorded without a list of events, on recorded machines: what of their devices is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "support/program.hpp"
#include "support/temporary_folder.hpp"

namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Lines of the recording as CSV; the first without a comment are its series.
std::string series_on(const std::string& machine, const std::string& settings = "",
                      const std::string& lines = "^time_s") {
  substrata::tests::TemporaryFolder folder;
  const std::string file = folder.path() + "/run.sub";
  const std::string tool = SUBSTRATA_TOOL;
  return substrata::tests::output_of(settings + tool + " machine run " + MACHINES + "/" + machine + " -- " +
                                     tool + " record -o " + file + " -- true 2>/dev/null && " + tool +
                                     " export " + file + " --to csv | grep '" + lines + "'");
}

TEST(ChosenByDefault, EnergyTemperatureAndFabricOfAServer) {
  const std::string series = series_on("xeon_two_sockets");
  for (const char* const name :
       {"powercap:::ENERGY_UJ:ZONE0,", "powercap:::ENERGY_UJ:ZONE1_SUBZONE0",
        "coretemp:::coretemp-isa-0001:Package_id_1", "infiniband:::mlx5_0_1:port_xmit_data"})
    EXPECT_THAT(series, HasSubstr(name));
  EXPECT_THAT(series, Not(HasSubstr("_ext:")));
  EXPECT_THAT(series, Not(HasSubstr("port_xmit_wait")));
}

TEST(ChosenByDefault, PowerMetersOfProcessorsWithoutPowercap) {
  EXPECT_THAT(series_on("grace"), HasSubstr("Grace_Power_Socket_0:average"));
  EXPECT_THAT(series_on("power9"), HasSubstr("coretemp:::ibmpowernv-isa-0000:System,"));
}

TEST(ChosenByDefault, LimitsOfSensorsAreNotForTheyStayAsTheyAre) {
  const std::string series = series_on("intel_laptop_hybrid");
  EXPECT_THAT(series, HasSubstr("coretemp-isa-0000:Package_id_0,"));
  EXPECT_THAT(series, HasSubstr("thermal-x86_pkg_temp:temp"));
  EXPECT_THAT(series, Not(ContainsRegex(":(crit|max|critical)[,\n]")));
}

TEST(ChosenByDefault, TemperatureOfAGpuIsThereOnce) {
  const std::string series = series_on("four_mi300a");
  EXPECT_THAT(series, HasSubstr("rocm_smi:::temp_current:device=3:sensor=1"));
  EXPECT_THAT(series, Not(HasSubstr("coretemp:::amdgpu")));
}

TEST(ChosenByDefault, EnergyOfTheRegistersWhereTheKernelHasNoZones) {
  EXPECT_THAT(series_on("epyc_9755"), HasSubstr("rapl:::PACKAGE_ENERGY:PACKAGE0"));
  EXPECT_THAT(series_on("epyc_9755"), Not(HasSubstr("_CNT")));
  EXPECT_THAT(series_on("xeon_two_sockets"), Not(HasSubstr("rapl:::")));
}

TEST(ChosenByDefault, EnergyAndFabricOfACrayNode) {
  const std::string series = series_on("cray_ex");
  EXPECT_THAT(series, HasSubstr("cray_pm:::PM_ENERGY:NODE"));
  EXPECT_THAT(series, HasSubstr("cxi:::cxi1:hni_sts_tx_ok_octets"));
}

TEST(ChosenByDefault, FileSystemOfALustreClient) {
  EXPECT_THAT(series_on("lustre_client"), HasSubstr("lustre:::home-ffff9a1c51e07000/stats_llwrite"));
}

TEST(ChosenByDefault, PowerUseAndMemoryOfEachGpu) {
  EXPECT_THAT(series_on("four_mi300a"), HasSubstr("rocm_smi:::power_average:device=3:sensor=0"));
  const std::string intel = series_on("intel_arc_b580");
  EXPECT_THAT(intel, HasSubstr("intel_gpu:::energy_card:device=0"));
  EXPECT_THAT(intel, HasSubstr("intel_gpu:::frequency:gt=0:device=0"));
  const std::string answers = std::string(MACHINES) + "/eight_h200/events.txt";
  const std::string nvidia = series_on(
      "eight_h200", "PAPI_NVML_MAIN=" + std::string(NVML_STAND_IN) + " FAKE_NVML_ANSWERS=" + answers + " ");
  for (const char* const what : {"power,", "energy,", "gpu_utilization", "temperature", "allocated_memory"})
    EXPECT_THAT(nvidia, HasSubstr(std::string("nvml:::NVIDIA_H200:device_7:") + what));
}

// Whoever looks at the recording later must not take the files of another machine for a measurement of this one.
TEST(RecordingOnARecordedMachine, CallsOnlyWhatTheProcessDidMeasured) {
  const std::string about = series_on("xeon_two_sockets", "", "^# .*per ");
  EXPECT_THAT(about, ContainsRegex("infiniband:::mlx5_0_1:port_xmit_data.*; recorded machine; per node"));
  EXPECT_THAT(about, Not(ContainsRegex("(infiniband|coretemp|powercap|net):::[^\n]*; measured;")));
  EXPECT_THAT(about, ContainsRegex("recorder:cpu: [^\n]*; measured; per recorder"));
}

// The same without a list in the commands that show values at once, each device once for the node.
TEST(ChosenByDefault, IsTheSameInStatAndTop) {
  const std::string on =
      std::string(SUBSTRATA_TOOL) + " machine run " + MACHINES + "/xeon_two_sockets -- " + SUBSTRATA_TOOL;
  for (const std::string& text : {substrata::tests::output_of(on + " stat -- true 2>&1"),
                                  substrata::tests::output_of(on + " top --batch -n 1 -i 50ms 2>&1")})
    for (const std::string name :
         {"powercap:::ENERGY_UJ:ZONE1 ", "coretemp:::coretemp-isa-0001:Package_id_1 ",
          "infiniband:::mlx5_0_1:port_xmit_data "}) {
      const size_t first = text.find(name);
      ASSERT_NE(first, std::string::npos) << name << text;
      EXPECT_EQ(text.find(name, first + 1), std::string::npos) << name;
    }
}

// Nothing runs on 0 W, as was shown beside a counter that its source had not renewed meanwhile.
TEST(CountersOfEnergy, ThatStandStillHaveNoValueInStatAndTop) {
  const std::string on =
      std::string(SUBSTRATA_TOOL) + " machine run " + MACHINES + "/xeon_two_sockets -- " + SUBSTRATA_TOOL;
  const std::string events = " -e powercap:::ENERGY_UJ:ZONE0,powercap:::ENERGY_UJ:ZONE1 ";
  for (const std::string& command :
       {" stat" + events + "-- true 2>&1", " stat -I 20" + events + "-- sleep 0.1 2>&1"}) {
    const std::string text = substrata::tests::output_of(on + command);
    EXPECT_THAT(text, ContainsRegex("no value +powercap:::ENERGY_UJ:ZONE1 +\\(its counter stands still\\)"));
    EXPECT_THAT(text, Not(ContainsRegex("0 (W|J)")));
  }
  EXPECT_THAT(substrata::tests::output_of(on + " stat -g ENERGY -- true 2>&1"),
              ContainsRegex("<no number> J +ENERGY +powercap:::ENERGY_UJ:ZONE1: its counter stands still\n"));
  const std::string json = substrata::tests::output_of(on + " stat --json" + events + "-- true 2>&1");
  EXPECT_THAT(json, ContainsRegex("\"value\": null,\n *\"why\": \"its counter stands still\""));
  const std::string top = substrata::tests::output_of(on + " top --batch -n 2 -i 20ms" + events);
  EXPECT_THAT(top, ContainsRegex("powercap:::ENERGY_UJ:ZONE1 +no value W [^\n]* still, "));
  EXPECT_THAT(top, Not(ContainsRegex(" 0 W")));
}

TEST(CountersOfEnergy, ThatMoveArePowerInStat) {
  substrata::tests::TemporaryFolder folder;
  const std::string machine = folder.path() + "/machine", tool = SUBSTRATA_TOOL;
  const std::string text = substrata::tests::output_of(
      "cp -r " + std::string(MACHINES) + "/xeon_two_sockets " + machine + " && " + tool + " machine run " +
      machine + " -- " + tool + " stat -e powercap:::ENERGY_UJ:ZONE1 -- sh -c 'F=" + machine +
      "/sys/class/powercap/intel-rapl:1/energy_uj; sleep 0.1; expr $(cat $F) + 7000000 > $F.new; cat $F.new "
      "> $F' 2>&1");
  EXPECT_THAT(text, ContainsRegex(" 7 J +powercap:::ENERGY_UJ:ZONE1 +# +[0-9.]+ W "));
}

// What a command uses is this machine's: its processes are not below the recorded one's /proc.
TEST(ChosenByDefault, HasTheAccountsOfTheCommandOnARecordedMachine) {
  const std::string tool = SUBSTRATA_TOOL;
  const std::string text = substrata::tests::output_of(tool + " machine run " + MACHINES + "/grace -- " +
                                                       tool + " stat -- true 2>&1");
  EXPECT_THAT(text, ContainsRegex("[1-9][^\n]* process:::faults:minor"));
  EXPECT_THAT(text, Not(HasSubstr("did not start")));
}

TEST(DescriptionOfAMachine, IsThatOfTheRecordedOne) {
  const std::string command =
      std::string(SUBSTRATA_TOOL) + " machine run " + MACHINES + "/xeon_two_sockets -- ";
  const std::string text = substrata::tests::output_of(command + HARDWARE_AVAIL);
  EXPECT_THAT(text, HasSubstr("Xeon(R) Platinum 8380"));
  EXPECT_THAT(text, HasSubstr("GenuineIntel"));
  EXPECT_THAT(text, ContainsRegex("Numa Node 1 Threads[^0-9]*: *2 3 6 7"));
  EXPECT_THAT(text, ContainsRegex("Sockets[^0-9]*: *2"));
}

TEST(DescriptionOfAMachine, HasMakersOfOtherProcessorsAndTheArchitectureOfAmdsGpus) {
  const auto described = [](const std::string& machine) {
    return substrata::tests::output_of(std::string(SUBSTRATA_TOOL) + " machine run " + MACHINES + "/" +
                                       machine + " -- " + HARDWARE_AVAIL);
  };
  EXPECT_THAT(described("power9"), ContainsRegex("IBM \\(3,0x3\\)[^~]*POWER9"));
  EXPECT_THAT(described("four_mi300a"), HasSubstr("gfx942"));
  // As PAPI has the fields of MIDR_EL1: family 8 is ARMv8, the stepping is the variant.
  const std::string grace = described("grace");
  EXPECT_THAT(grace, HasSubstr("ARM_ARM (65,0x41)"));
  EXPECT_THAT(grace, HasSubstr("Neoverse-V2"));
  EXPECT_THAT(grace, HasSubstr("8/3407/0 0x08/0xd4f/0x00"));
  EXPECT_THAT(described("a64fx"), ContainsRegex("ARM_FUJITSU \\(70,0x46\\)[^~]*A64FX[^~]*8/1/1"));
}

// Through papi.h alone, in eventsets of a program that knows nothing of recorded machines.
TEST(PapiProgram, CountsTheNamesItAsksForOnRecordedMachines) {
  const auto counted = [](const std::string& machine, const std::string& events) {
    return substrata::tests::output_of("PAPI_NVML_MAIN=" + std::string(NVML_STAND_IN) +
                                       " FAKE_NVML_ANSWERS=" + MACHINES + "/eight_h200/events.txt " +
                                       SUBSTRATA_TOOL + " machine run " + MACHINES + "/" + machine + " -- " +
                                       COMMAND_LINE + " " + events);
  };
  EXPECT_THAT(counted("eight_h200", "nvml:::NVIDIA_H200:device_3:power infiniband:::mlx5_7_1:port_xmit_data"),
              ::testing::AllOf(HasSubstr("655003"), HasSubstr("mlx5_7_1:port_xmit_data")));
  EXPECT_THAT(counted("lustre_client", "lustre:::scratch-ffff9a1c40d52800/stats_llread"),
              HasSubstr("llread"));
  EXPECT_THAT(counted("power9", "powercap_ppc:::CURRENT_POWER"), HasSubstr("2550"));
  // Counters of a recorded machine do not open: the name is refused, and the program's other events count.
  EXPECT_THAT(
      counted("eight_h200", "topdown:::TOPDOWN_RETIRING_PERC nvml:::NVIDIA_H200:device_3:power 2>&1; true"),
      ::testing::AllOf(HasSubstr("Failed adding: topdown:::TOPDOWN_RETIRING_PERC"), HasSubstr("655003")));
}

// What a vendor's library answered where the machine was saved is what its stand-in answers on the saved one.
TEST(SavedMachine, HasTheAnswersOfVendorsLibraries) {
  substrata::tests::TemporaryFolder folder;
  const std::string saved = folder.path() + "/saved", tool = SUBSTRATA_TOOL;
  const std::string library = "PAPI_NVML_MAIN=" + std::string(NVML_STAND_IN) + " ";
  const std::string answers = std::string(MACHINES) + "/eight_h200/events.txt ";
  substrata::tests::output_of("FAKE_NVML_ANSWERS=" + answers + library + tool + " machine save " + saved +
                              " 2>&1");
  EXPECT_THAT(substrata::tests::output_of("grep nvml:::NVIDIA_H200:device_3:power " + saved + "/events.txt"),
              HasSubstr("mW 655003"));
  EXPECT_THAT(substrata::tests::output_of(library + "FAKE_NVML_ANSWERS=" + saved + "/events.txt " + tool +
                                          " machine run " + saved + " -- " + COMMAND_LINE +
                                          " nvml:::NVIDIA_H200:device_3:power"),
              HasSubstr("655003"));
}

// A node since Linux 5.10, whose energy is root's: listings leave it out.
TEST(Doctor, SaysWhyAnAvailableSubstrateLacksSomeOfItsEvents) {
  const std::string tool = SUBSTRATA_TOOL;
  const std::string text = substrata::tests::output_of(tool + " machine run " + MACHINES +
                                                       "/intel_laptop_hybrid -- " + tool + " doctor 2>&1");
  EXPECT_THAT(text,
              ContainsRegex("not here: 4 events \\(powercap:::ENERGY_UJ:ZONE0, [^\n]*\n *[^ ]*energy_uj "));
  EXPECT_THAT(text, ContainsRegex("not here: [^\n]*PACKAGE_ENERGY_CNT:PACKAGE0[^\n]*\n *[^\n]*modprobe msr"));
}

TEST(List, ShowsWhatDoesNotOpenWithTheReasonWhenAskedForAll) {
  const std::string tool = SUBSTRATA_TOOL;
  const std::string list = tool + " machine run " + MACHINES + "/intel_laptop_hybrid -- " + tool + " list ";
  EXPECT_THAT(substrata::tests::output_of(list + "--all powercap"),
              ContainsRegex("ENERGY_UJ:ZONE0 [^\n]* not available: [^\n]*energy_uj"));
  const std::string usual = substrata::tests::output_of(list + "powercap");
  EXPECT_THAT(usual, Not(HasSubstr("powercap:::ENERGY_UJ:")));
  EXPECT_THAT(usual, ContainsRegex("MAX_POWER_A_UW:ZONE0 [^\n]*recorded machine"));
}

TEST(Doctor, SaysWhatTheCountersOfGpusThatOnlyAnotherPapiHasNeed) {
  const std::string tool = SUBSTRATA_TOOL;
  EXPECT_THAT(substrata::tests::output_of(tool + " doctor 2>&1 | grep -A1 '^bridge '"),
              ContainsRegex("SUBSTRATA_BRIDGE=/path/to/libpapi.so.*cuda rocp_sdk intel_gpu.*PAPI_CUDA_ROOT"));
  EXPECT_THAT(substrata::tests::output_of(
                  tool + " stat -e cuda:::dram__bytes:stat=sum:device=0 -- true 2>&1 || true"),
              HasSubstr("no component is called \"cuda\"; SUBSTRATA_BRIDGE=/path/to/libpapi.so asks a PAPI"));
}

// In a mount namespace of its own, as a container is: refused with the cure, which is then tried.
TEST(Doctor, InAContainerWithoutProcSubstratesCountOnceItIsMounted) {
  if (geteuid() != 0 || std::system("unshare -m mount -t tmpfs none /proc 2>/dev/null") != 0)
    GTEST_SKIP() << "only root can make a mount namespace, and not everywhere";
  const auto said = [](const std::string& mounts) {
    return substrata::tests::output_of("LD_LIBRARY_PATH=" + std::string(LIBRARIES) + " unshare -m sh -c '" +
                                       mounts + SUBSTRATA_TOOL +
                                       " doctor 2>&1 | grep -A1 -E \"^(io|net|stealtime) \"'");
  };
  const std::string hidden = said("mount -t tmpfs none /proc && ");
  const std::string mounted = said("mount -t tmpfs none /proc && mount -t proc proc /proc && ");
  for (const char* const name : {"io", "net", "stealtime"}) {
    EXPECT_THAT(hidden, ContainsRegex(std::string(name) + " [^\n]*\n *not available: [^\n]*mount /proc"));
    EXPECT_THAT(mounted, ContainsRegex(std::string(name) + " [^\n]*\n *ok: [0-9]+ events"));
  }
}

}  // namespace
