// `substrata serve` as Prometheus meets it: over a socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "browser.hpp"
#include "openmetrics_grammar.hpp"
#include "running_program.hpp"
#include "support/program.hpp"
#include "synthetic.hpp"

namespace {

using namespace substrata::recording;
using namespace substrata::tests;
using testing::HasSubstr;
using testing::IsEmpty;

// Begins to serve at a free port; `address` is what it printed.
class Server {
 public:
  // `before`: what stands before the program, such as another that starts it.
  explicit Server(std::vector<std::string> arguments, const std::vector<std::string>& before = {})
      : program_(whole(std::move(arguments), before)) {
    const std::string line = program_.errors_until("/metrics\n");
    const std::size_t begin = line.find("http://127.0.0.1:");
    if (begin != std::string::npos) port_ = std::atoi(line.c_str() + begin + 17);
    said_ = line;
  }
  int port() const { return port_; }
  const std::string& said() const { return said_; }
  RunningProgram& program() { return program_; }
  std::string get(const std::string& path, const std::string& headers = {}) const {
    return reply_of(port_, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
  }
  std::string metrics() const { return body_of(get("/metrics")); }
  static std::string body_of(const std::string& reply) {
    const std::size_t end = reply.find("\r\n\r\n");
    return end == std::string::npos ? std::string() : reply.substr(end + 4);
  }

 private:
  static std::vector<std::string> whole(std::vector<std::string> arguments,
                                        const std::vector<std::string>& before) {
    arguments.insert(arguments.begin(), {SUBSTRATA_TOOL, "serve", "--listen", "127.0.0.1:0"});
    arguments.insert(arguments.begin(), before.begin(), before.end());
    return arguments;
  }
  RunningProgram program_;
  int port_ = 0;
  std::string said_;
};

// The value of the sample whose line begins with `name` and has `label` in it; -1 when there is none.
double value_of(const std::string& text, const std::string& name, const std::string& label) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name + "{") && line.find(label) != std::string::npos)
      return std::stod(line.substr(line.rfind("} ") + 2));
  return -1;
}

TEST(Serve, GivesOpenMetricsOfTheMachineUntilItIsEnded) {
  Server server({"-e", "net:::lo:rx:bytes,example:::*", "-i", "100us"});
  ASSERT_GT(server.port(), 0) << server.said();
  const std::string reply = server.get("/metrics");
  EXPECT_THAT(reply, testing::StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply,
              HasSubstr("\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
  const std::string text = Server::body_of(reply);
  EXPECT_THAT(reply, HasSubstr("\r\nContent-Length: " + std::to_string(text.size()) + "\r\n"));
  EXPECT_THAT(faults_of_openmetrics(text), IsEmpty()) << text;
  EXPECT_THAT(text, HasSubstr("target=\"whole machine\""));
  EXPECT_EQ(value_of(text, "substrata_event_readable", "net:::lo:rx:bytes"), 1);
  EXPECT_EQ(value_of(text, "substrata_event_scaled", "net:::lo:rx:bytes"), 0);
  // The values live: what the replies themselves sent over loopback is in them.
  const double first = value_of(server.metrics(), "substrata_net_lo_rx_bytes_total", "event=");
  EXPECT_GE(first, 0);
  // A request may come before the interval is over: then the values are still the ones before.
  double second = first;
  for (int tries = 0; tries < 1000 && second <= first; ++tries)
    second = value_of(server.metrics(), "substrata_net_lo_rx_bytes_total", "event=");
  EXPECT_GT(second, first);
  EXPECT_EQ(server.program().end(SIGTERM), 0);
}

// What is served without a list of events on a recorded server with sensors, counters of energy and a fabric.
std::string served_on_a_recorded_machine() {
  const TemporaryFolder folder;
  const Ran unfolded = shell(SUBSTRATA_TOOL " machine unfold " + folder.file("machine") + " " MACHINE_TEXT);
  if (unfolded.status != 0) return unfolded.errors;
  Server server({}, {SUBSTRATA_TOOL, "machine", "run", folder.file("machine"), "--"});
  return server.port() > 0 ? server.metrics() : server.said();
}

TEST(Serve, ByDefaultServesTheDevicesOfTheNode) {
  const std::string text = served_on_a_recorded_machine();
  for (const char* const event :
       {"machine:busy", "net:::lo:rx:bytes", "powercap:::ENERGY_UJ:ZONE1",
        "coretemp:::coretemp-isa-0001:Package_id_1", "infiniband:::mlx5_0_1:port_xmit_data"})
    EXPECT_EQ(value_of(text, "substrata_event_readable", "event=\"" + std::string(event) + '"'), 1) << event;
  EXPECT_THAT(text, testing::Not(HasSubstr("origin=\"modelled\"")));
}

TEST(Serve, TheDashboardAsksForFamiliesThatAreServed) {
  std::set<std::string> served;
  std::istringstream lines(served_on_a_recorded_machine());
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("#")) served.insert(line.substr(0, line.find('{')));
  const nlohmann::json dashboard = nlohmann::json::parse(std::ifstream(DASHBOARD));
  const std::regex of_families(R"re(__name__=~"([^"]*)")re");
  std::set<std::string> answered;
  for (const nlohmann::json& panel : dashboard.at("panels"))
    for (const nlohmann::json& target : panel.at("targets")) {
      const std::string query = target.at("expr");
      const std::sregex_iterator first(query.begin(), query.end(), of_families);
      ASSERT_NE(first, std::sregex_iterator()) << query;
      for (std::sregex_iterator one = first; one != std::sregex_iterator(); ++one)
        for (const std::string& name : served)
          if (std::regex_match(name, std::regex((*one)[1].str()))) answered.insert(panel.at("title"));
    }
  for (const char* const title :
       {"Processors busy", "Network and fabric", "Temperature", "Power", "Events without a value"})
    EXPECT_THAT(answered, testing::Contains(title));
  const std::string hosts = dashboard.at("templating").at("list")[1].at("query");
  EXPECT_THAT(hosts, HasSubstr("substrata_exporter_info"));
  EXPECT_THAT(served, testing::Contains("substrata_exporter_info"));
}

// Each of them was answered 200.
TEST(Serve, RequestsWithoutOneHostOrWithANullByteInThePathAreBad) {
  Server server({"-e", "example:::*"});
  ASSERT_GT(server.port(), 0) << server.said();
  for (const std::string request :
       {"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: localhost\r\nhost: localhost\r\n\r\n",
        "GET /%00%2e%2e/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /metrics%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"})
    EXPECT_THAT(reply_of(server.port(), request), HasSubstr(" 400 ")) << request;
  for (const std::string request :
       {"GET /metrics HTTP/1.0\r\n\r\n", "GET /metrics?a=%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"})
    EXPECT_THAT(reply_of(server.port(), request), HasSubstr(" 200 ")) << request;
}

TEST(Serve, EndsBySigintToo) {
  Server server({"-e", "example:::*"});
  ASSERT_GT(server.port(), 0) << server.said();
  EXPECT_EQ(server.program().end(SIGINT), 0);
}

TEST(Serve, AnswersTheOlderFormatWhereOnlyThatIsTaken) {
  Server server({"-e", "thermal_model:::*"});
  ASSERT_GT(server.port(), 0) << server.said();
  const std::string reply = server.get("/metrics", "Accept: text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n");
  EXPECT_THAT(reply, HasSubstr("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(reply, testing::Not(HasSubstr("# EOF")));
  const std::string both =
      server.get("/metrics", "accept: application/openmetrics-text\r\nAccept: text/plain\r\n");
  EXPECT_THAT(both, HasSubstr("# EOF\n"));
  // CO-9
  EXPECT_THAT(reply, HasSubstr("origin=\"modelled\""));
  EXPECT_THAT(reply, testing::ContainsRegex("# HELP substrata_thermal_model[^\n]* modelled: "));
  if (shell("command -v promtool").status != 0) return;
  const TemporaryFolder folder;
  std::ofstream(folder.file("metrics")) << Server::body_of(reply);
  // 3: it reads the text and would like other names.
  const Ran ran = shell("promtool check metrics < " + folder.file("metrics"));
  EXPECT_TRUE(ran.status == 0 || ran.status == 3) << ran.status << ran.errors;
}

TEST(Serve, WrongRequestsAreAnsweredAndDoNotEndIt) {
  Server server({"-e", "example:::*"});
  ASSERT_GT(server.port(), 0) << server.said();
  EXPECT_THAT(server.get("/"), HasSubstr("\"live\":true"));
  EXPECT_THAT(server.get("/other"), testing::StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(server.get("/metrics?a=b"), testing::StartsWith("HTTP/1.1 200 "));
  const std::string posted = reply_of(server.port(), "POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(posted, testing::StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(posted, HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  EXPECT_EQ(reply_of(server.port(), "nonsense\r\n\r\n"), "");  // closed: that was no HTTP
  EXPECT_THAT(reply_of(server.port(), "GET /" + std::string(100'000, 'a')),
              testing::StartsWith("HTTP/1.1 414 "));
  const std::string head = reply_of(server.port(), "HEAD /metrics HTTP/1.0\r\n\r\n");
  EXPECT_THAT(head, testing::StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(Server::body_of(head), "");
  // Clients that say nothing do not keep others waiting.
  std::vector<int> silent;
  for (int i = 0; i < 80; ++i) silent.push_back(connect_to(server.port()));
  EXPECT_THAT(server.get("/metrics"), testing::StartsWith("HTTP/1.1 200 "));
  for (const int descriptor : silent) close(descriptor);
  EXPECT_EQ(server.program().end(SIGTERM), 0);
}

TEST(Serve, TheValuesOfItsPageAreInUnitsThatPeopleRead) {
  Server server({"-e", "example:::*,thermal_model:::*"});
  ASSERT_GT(server.port(), 0) << server.said();
  const std::string reply = server.get("/live.json");
  EXPECT_THAT(reply, HasSubstr("\r\nContent-Type: application/json\r\n"));
  const nlohmann::json live = nlohmann::json::parse(Server::body_of(reply));
  EXPECT_GT(live.at("seconds"), 0);
  const nlohmann::json& series = live.at("series");
  ASSERT_TRUE(series.is_array() && series.size() > 2);
  bool heat = false;
  for (const nlohmann::json& one : series) {
    if (one.at("component") != "thermal_model") continue;
    EXPECT_EQ(one.at("modelled"), true);
    if (one.at("name").get<std::string>().find(":temperature") == std::string::npos) continue;
    heat = true;
    EXPECT_EQ(one.at("unit"), "degC");
    EXPECT_LT(one.at("value"), 200);
  }
  EXPECT_TRUE(heat) << reply;
}

constexpr const char* kNoChromium = "chromium (Debian package chromium) does not run here: ";

// The page as it stands there after its scripts, none of which complains; no output where Chromium does not run.
Ran in_chromium(const Server& server) {
  const TemporaryFolder folder;
  Ran seen = chromium(folder, "http://127.0.0.1:" + std::to_string(server.port()) + "/");
  if (kSanitized || seen.status != 0 || seen.out.find("<header") == std::string::npos)
    seen.out.clear();
  else
    EXPECT_THAT(seen.errors, testing::Not(HasSubstr("CONSOLE")));
  return seen;
}

TEST(Serve, ItsPageShowsNewValuesAsTheyCome) {
  Server server({"-i", "100ms", "-e", "example:::*"});
  ASSERT_GT(server.port(), 0) << server.said();
  const Ran seen = in_chromium(server);
  if (seen.out.empty()) GTEST_SKIP() << kNoChromium << seen.errors.substr(0, 300);
  EXPECT_THAT(seen.out, HasSubstr("Newest values, every 100 ms"));
  EXPECT_THAT(seen.out, HasSubstr("class=\"tile\" data-name=\"example:::"));
  EXPECT_THAT(seen.out, HasSubstr("id=\"state\" role=\"status\"></p>")) << "no error stands there";
}

// Axes without lines stood there until the second answer.
TEST(Serve, ItsPageSaysThatItWaitsForTheFirstValues) {
  Server server({"-i", "600s", "-e", "example:::*"});
  ASSERT_GT(server.port(), 0) << server.said();
  const Ran seen = in_chromium(server);
  if (seen.out.empty()) GTEST_SKIP() << kNoChromium << seen.errors.substr(0, 300);
  EXPECT_THAT(seen.out, HasSubstr("role=\"status\">Waiting for the first values.</p>"));
  EXPECT_THAT(seen.out, testing::Not(HasSubstr("<canvas")));
  EXPECT_THAT(seen.out, testing::Not(HasSubstr("class=\"tile\"")));
}

// Holds so many connections from now on, and sends a byte of an endless request on each again and again.
pid_t drip(int port, int clients) {
  const pid_t child = fork();
  if (child != 0) return child;
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  std::vector<int> connections(static_cast<std::size_t>(clients), -1);
  for (const pid_t parent = getppid(); getppid() == parent;) {
    for (int& connection : connections) {
      if (connection < 0) {
        connection = connect_to(port);
        if (connection >= 0) send(connection, "GET /metrics HTTP/1.1\r\nX: ", 26, MSG_NOSIGNAL);
      } else if (send(connection, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) {
        close(connection);
        connection = -1;
      }
    }
    usleep(50'000);
  }
  _exit(0);
}

TEST(Serve, AThousandClientsThatDripDoNotKeepAnotherWaiting) {
  Server server({"-e", "example:::*"});
  ASSERT_GT(server.port(), 0) << server.said();
  const pid_t dripping = drip(server.port(), 1200);
  ASSERT_GT(dripping, 0);
  // One answer may come before all of them are connected.
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(server.get("/metrics"), testing::StartsWith("HTTP/1.1 200 ")) << i;
    usleep(100'000);
  }
  kill(dripping, SIGKILL);
  waitpid(dripping, nullptr, 0);
  EXPECT_EQ(server.program().end(SIGTERM), 0);
}

// A page from elsewhere may name this address under a name of its own and then read what comes back.
TEST(Serve, ARequestForAnotherHostIsRefused) {
  Server server({"-e", "example:::*"});
  ASSERT_GT(server.port(), 0) << server.said();
  const auto asked_as = [&](const std::string& host) {
    return reply_of(server.port(), "GET /metrics HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  };
  const std::string port = ":" + std::to_string(server.port());
  for (const char* host : {"localhost", "127.0.0.1", "[::1]", "LocalHost", "127.1.2.3"}) {
    EXPECT_THAT(asked_as(host), testing::StartsWith("HTTP/1.1 200 ")) << host;
    EXPECT_THAT(asked_as(host + port), testing::StartsWith("HTTP/1.1 200 ")) << host;
  }
  for (const char* host : {"rebound.example", "localhost.example", "127.0.0.1.example", "192.0.2.1", "[::2]"})
    EXPECT_THAT(asked_as(host + port), testing::StartsWith("HTTP/1.1 421 ")) << host;
  EXPECT_EQ(server.program().end(SIGTERM), 0);
}

TEST(Serve, ACommandIsCountedAndItsStatusGiven) {
  const TemporaryFolder folder;
  ASSERT_EQ(shell("mkfifo " + folder.file("gate")).status, 0);
  Server server({"-e", "perf::PAGE-FAULTS", "-i", "100us", "--", "sh", "-c",
                 "head -c 1000000 /dev/zero | md5sum > " + folder.file("done") + "; read line < " +
                     folder.file("gate") + "; exit 3"});
  if (server.said().find("perf::PAGE-FAULTS: ") != std::string::npos) GTEST_SKIP() << server.said();
  ASSERT_GT(server.port(), 0) << server.said();
  // The command waits at the gate; what it has counted until then is there to see.
  double faults = 0;
  std::string text;
  while (faults < 100) {
    text = server.metrics();
    faults = value_of(text, "substrata_perf_PAGE_FAULTS_total", "scope=\"process tree\"");
    ASSERT_GE(faults, 0) << text;
  }
  EXPECT_THAT(faults_of_openmetrics(text), IsEmpty());
  EXPECT_THAT(text, HasSubstr("target=\"sh -c head"));
  std::ofstream(folder.file("gate")) << "go\n";
  EXPECT_EQ(server.program().wait(), 3);
}

TEST(Serve, StaysWithTheLastValuesIfAsked) {
  Server server({"-e", "example:::*", "--stay", "--", "true"});
  ASSERT_GT(server.port(), 0) << server.said();
  for (int i = 0; i < 3; ++i) EXPECT_THAT(faults_of_openmetrics(server.metrics()), IsEmpty());
  bool ended = false;
  for (int i = 0; i < 500 && !ended; ++i, usleep(20'000))
    ended = server.get("/live.json").find("\"ended\":true") != std::string::npos;
  EXPECT_TRUE(ended) << "its page waits for newer values";
  EXPECT_THAT(server.program().end(SIGTERM), testing::AnyOf(0, 128 + SIGTERM))
      << "true may not have ended yet";
}

void ends_by_a_signal(const std::vector<std::string>& arguments) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Server server(arguments);
    ASSERT_GT(server.port(), 0) << server.said();
    EXPECT_EQ(server.program().end(signal), 128 + signal);
  }
}

TEST(Serve, ASignalEndsTheCommandAndThenTheServer) {
  ends_by_a_signal({"-e", "example:::*", "--", "sleep", "1000"});
}

TEST(Serve, ASignalWhileTheCommandRunsEndsAServerThatWouldStay) {
  ends_by_a_signal({"-e", "example:::*", "--stay", "--", "sleep", "1000"});
}

TEST(Serve, TheNewestValuesOfAGrowingRecord) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
  const std::uint32_t set = writer.declare({count_series("work"), gauge_series("heat")});
  const auto row = [&](std::int64_t second, std::int64_t work, std::uint8_t flags) {
    const std::int64_t values[2] = {work, 40000 + work};
    const std::uint8_t both[2] = {flags, kModelled};
    writer.sample(set, kSecond + second * kSecond, 0, values, both);
    writer.flush();
  };
  row(1, 5, 0);
  Server server({path});
  ASSERT_GT(server.port(), 0) << server.said();
  std::string text = server.metrics();
  EXPECT_THAT(faults_of_openmetrics(text), IsEmpty()) << text;
  EXPECT_THAT(text, HasSubstr("complete=\"no\""));
  EXPECT_THAT(text, testing::ContainsRegex("substrata_work_total\\{[^\n]*\\} 5 1700000001.000\n"));
  row(2, 7, kScaled);
  text = server.metrics();
  EXPECT_THAT(text, testing::ContainsRegex("substrata_work_total\\{[^\n]*\\} 7 1700000002.000\n"));
  EXPECT_EQ(value_of(text, "substrata_event_scaled", "event=\"work\""), 1);
  EXPECT_THAT(text, HasSubstr("event=\"heat\",origin=\"modelled\""));
  // An error is never a number.
  row(3, 0, kAbsent);
  text = server.metrics();
  EXPECT_THAT(faults_of_openmetrics(text), IsEmpty()) << text;
  EXPECT_THAT(text, testing::Not(HasSubstr("substrata_work_total{")));
  EXPECT_EQ(value_of(text, "substrata_event_readable", "event=\"work\""), 0);
  writer.end(9 * kSecond, {});
  EXPECT_THAT(server.metrics(), HasSubstr("complete=\"yes\""));
  shell("rm " + path);
  EXPECT_THAT(server.get("/metrics"), testing::StartsWith("HTTP/1.1 500 "));
  EXPECT_EQ(server.program().end(SIGTERM), 0);
}

// It said that it waited for the first values, for ever.
TEST(Serve, ItsPageShowsTheTotalsOfARecordingThatHasEnded) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.sub");
  FileWriter writer(path, FileWriter::Mode::kReplace, machine("a", "boot"));
  const std::uint32_t set = writer.declare({count_series("work", "ns")});
  for (std::int64_t second = 1; second <= 3; ++second) {
    const std::int64_t value = 700'000'000 * second;
    const std::uint8_t flags = 0;
    writer.sample(set, second * kSecond, 0, &value, &flags);
  }
  writer.flush();
  Server server({"-i", "100ms", path});
  ASSERT_GT(server.port(), 0) << server.said();
  EXPECT_THAT(server.get("/live.json"), HasSubstr("\"ended\":false"));
  Ran seen = in_chromium(server);
  if (seen.out.empty()) GTEST_SKIP() << kNoChromium << seen.errors.substr(0, 300);
  EXPECT_THAT(seen.out, HasSubstr(">Waiting for newer values.</p>"));
  writer.end(4 * kSecond, {});
  EXPECT_THAT(server.get("/live.json"), HasSubstr("\"ended\":true"));
  seen = in_chromium(server);
  EXPECT_THAT(seen.out, HasSubstr(">It has ended: no newer values come."));
  EXPECT_THAT(seen.out, HasSubstr("<td>work</td><td class=\"n\">2.1 s</td><td>in all</td>"));
  EXPECT_THAT(seen.out, testing::Not(HasSubstr("<canvas")));
}

TEST(Serve, SaysWhatIsWrong) {
  const auto serve = [](const std::string& arguments) { return shell(SUBSTRATA_TOOL " serve " + arguments); };
  EXPECT_EQ(serve("r.sub -- true").status, 2);
  EXPECT_EQ(serve("-p 1 -- true").status, 2);
  EXPECT_EQ(serve("--listen 127.0.0.1:0 /no/such/file").status, 1);
  for (const char* listen : {"127.0.0.1:http", "127.0.0.1:99999", "nowhere:80", "127.0.0.1:"}) {
    const Ran ran = serve("-e 'example:::*' --listen " + std::string(listen));
    EXPECT_EQ(ran.status, 1) << listen;
    EXPECT_THAT(ran.errors, HasSubstr(listen));
  }
  EXPECT_THAT(serve("--listen 127.0.0.1:0 -e nope:::nothing").errors, HasSubstr("nope:::nothing"));
  EXPECT_THAT(serve("--listen 127.0.0.1:0 -p none").errors, HasSubstr("none"));
  EXPECT_THAT(serve("--listen 127.0.0.1:0 -e 'example:::*' -- /no/such/program").errors,
              HasSubstr("/no/such/program"));
}

}  // namespace
