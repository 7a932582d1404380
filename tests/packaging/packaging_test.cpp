// What `cmake --install` and `cpack` produce: consumers of each build system find it, wherever the tree is
// moved to.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "support/program.hpp"

namespace {

using namespace substrata::tests;

namespace fs = std::filesystem;

// Whether a text names a folder by its whole path (also behind -I or -L), and not as the end of another.
bool names_folder(const std::string& text, const std::string& folder) {
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at + 1)) {
    const std::string before = text.substr(at < 2 ? 0 : at - 2, at < 2 ? at : 2);
    if (before.ends_with("-I") || before.ends_with("-L")) return true;
    const unsigned char last = before.empty() ? ' ' : static_cast<unsigned char>(before.back());
    if (std::isalnum(last) == 0 && std::string("_-./}").find(static_cast<char>(last)) == std::string::npos)
      return true;
  }
  return false;
}

// A folder of our own with an environment in which nothing but the installed tree shows where PAPI is.
class Packaging : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(LIBDIR) != "lib") GTEST_SKIP() << "configured for the library folder " << LIBDIR;
    for (const char* name :
         {"LD_LIBRARY_PATH", "LD_RUN_PATH", "LIBRARY_PATH", "CPATH", "PKG_CONFIG_PATH", "DESTDIR",
          "CMAKE_PREFIX_PATH", "PAPI_ROOT", "PAPI_DIR", "CFLAGS", "LDFLAGS", "MAKEFLAGS"})
      unsetenv(name);
  }

  // Installs to one place and moves the tree to another, so that a path kept from the installation is found
  // out.
  void install() {
    const Ran installed = run(shell_word(CMAKE) + " --install " + shell_word(BUILD) + " --prefix " +
                              shell_word(folder_ / "first"));
    ASSERT_EQ(installed.status, 0) << installed.out;
    fs::create_directory(folder_ / "moved");
    prefix_ = folder_ / "moved" / "prefix";
    fs::rename(folder_ / "first", prefix_);
  }

  // The consumer in that folder, configured and built against what is installed.
  void expect_builds_by_cmake(const fs::path& source, const std::string& compiler) {
    const fs::path build = folder_ / "build";
    const Ran configured =
        run(shell_word(CMAKE) + " -S " + shell_word(source) + " -B " + shell_word(build) + " -G " +
            shell_word(GENERATOR) + " " + compiler + " -DCMAKE_PREFIX_PATH=" + shell_word(prefix_));
    ASSERT_EQ(configured.status, 0) << configured.out;
    const Ran built = run(shell_word(CMAKE) + " --build " + shell_word(build));
    ASSERT_EQ(built.status, 0) << built.out;
    expect_works(build / "report");
  }
  // The program runs, and with the libraries of our prefix, without LD_LIBRARY_PATH.
  void expect_works(const fs::path& program) {
    const Ran ran = run(shell_word(program));
    EXPECT_EQ(ran.status, 0) << ran.out;
    EXPECT_NE(ran.out.find("answered by 7.3"), std::string::npos) << ran.out;
    const Ran loaded = run("ldd " + shell_word(program));
    EXPECT_EQ(loaded.status, 0) << loaded.out;
    for (const char* library : {"libpapi.so.7.3", "libsubstrata.so.0"}) {
      std::smatch place;
      ASSERT_TRUE(std::regex_search(loaded.out, place, std::regex(std::string(library) + " => (.*) \\(")))
          << loaded.out;
      EXPECT_EQ(fs::canonical(place[1].str()).parent_path(), prefix_ / "lib") << loaded.out;
    }
  }

  // The program measures with what it carries, and asks the machine for none of our libraries nor the C++ one.
  void expect_carries_its_libraries(const fs::path& program, bool whole) {
    const Ran ran =
        run("SUBSTRATA_BRIDGE=" + shell_word(prefix_ / "lib/libpapi.so") + " " + shell_word(program));
    EXPECT_EQ(ran.status, 0) << ran.out;
    EXPECT_NE(ran.out.find("sde:::Walk::STEPS 1000\n"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("\noverflow\n"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("\nprocessors " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + "\n"),
              std::string::npos)
        << ran.out;
    std::smatch faults;
    if (std::regex_search(ran.out, faults, std::regex("perf::PAGE-FAULTS ([0-9]+)\n")))
      EXPECT_GE(std::stol(faults[1]), 1000) << ran.out;
    else
      EXPECT_NE(ran.out.find("perf::PAGE-FAULTS does not count here"), std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find("linked with -static") != std::string::npos, whole) << ran.out;
    const std::string needed = run("readelf -d -l " + shell_word(program)).out;
    EXPECT_EQ(needed.find("INTERP") == std::string::npos, whole) << needed;
    for (const char* library : {"libpapi", "libsde", "libsubstrata", "libstdc++", "libhwloc"})
      EXPECT_EQ(needed.find(library), std::string::npos) << needed;
  }

  // What cpack makes, by the packages' names.
  std::map<std::string, fs::path> packed(const std::string& options) {
    const Ran made = run("cd " + shell_word(BUILD) + " && " + shell_word(CPACK) + " -G DEB " + options +
                         " -B " + shell_word(folder_ / "packed"));
    EXPECT_EQ(made.status, 0) << made.out;
    std::map<std::string, fs::path> packages;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_ / "packed"))
      if (const std::string name = entry.path().filename().string(); name.ends_with(".deb"))
        packages[name.substr(0, name.find('_'))] = entry.path();
    return packages;
  }

  std::string pkg_config_path() const { return (prefix_ / "lib/pkgconfig").string(); }

  // A copy of the examples of consumers, which are built where they are.
  fs::path consumers() {
    const fs::path copy = folder_ / "consumers";
    fs::copy(fs::path(SOURCE) / "examples/consumers", copy, fs::copy_options::recursive);
    return copy;
  }

  const TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
  fs::path prefix_;
};

// PA-10, PA-11, PA-14
TEST_F(Packaging, InstalledTreeHoldsLibrariesHeadersAndTheirLinks) {
  ASSERT_NO_FATAL_FAILURE(install());
  for (const char* file : {"lib/libpapi.so.7.0",
                           "lib/libpapi.so.7.1",
                           "lib/libpapi.so.7.2",
                           "lib/libpapi.so.7.3",
                           "lib/libpapi.so",
                           "lib/libpapi.a",
                           "lib/libsde.a",
                           "lib/libsubstrata.so.0",
                           "lib/libsde.so.1",
                           "lib/libsde.so",
                           "include/papi.h",
                           "include/papi/functions.h",
                           "include/papiStdEventDefs.h",
                           "include/f77papi.h",
                           "include/f90papi.h",
                           "include/fpapi.h",
                           "include/sde_lib.h",
                           "include/sde_lib.hpp",
                           "include/substrata/substrate.h",
                           "include/substrata/compact.h",
                           "include/substrata/feed.h",
                           "include/substrata/feed.hpp",
                           "include/substrata/result.hpp",
                           "include/substrata/units.hpp",
                           "include/substrata/substrata.hpp",
                           "lib/pkgconfig/papi.pc",
                           "lib/pkgconfig/sde.pc",
                           "lib/pkgconfig/substrata.pc",
                           "lib/cmake/PAPI/PAPIConfig.cmake",
                           "share/substrata/python/pypapi/papi_low.py",
                           "share/substrata/python/substrata/__init__.py",
                           "share/substrata/python/substrata_recording.py",
                           "share/substrata/grafana-dashboard.json",
                           "share/doc/substrata/docs/guide/README.md",
                           "share/doc/substrata/examples/papi/counting.c",
                           "share/doc/substrata/LICENSE"})
    EXPECT_TRUE(fs::exists(prefix_ / file)) << file;
  EXPECT_EQ(fs::read_symlink(prefix_ / "lib/libpapi.so"), "libpapi.so.7.3");
  EXPECT_EQ(fs::read_symlink(prefix_ / "lib/libpapi.so.7.1"), "libpapi.so.7.0");
  EXPECT_EQ(fs::read_symlink(prefix_ / "lib/libpapi.so.7.2"), "libpapi.so.7.3");
}

// PA-14: finders read the version by the text of this line.
TEST_F(Packaging, InstalledHeaderKeepsTheLiteralVersionLine) {
  ASSERT_NO_FATAL_FAILURE(install());
  std::ifstream header(prefix_ / "include/papi.h");
  const std::regex literal("#define PAPI_VERSION PAPI_VERSION_NUMBER\\([0-9]+,[0-9]+,[0-9]+,[0-9]+\\)");
  int found = 0;
  for (std::string line; std::getline(header, line);) found += std::regex_match(line, literal) ? 1 : 0;
  EXPECT_EQ(found, 1);
}

// Nothing readable names the build tree, the source tree or the place of the installation, and no program or
// library has a path to any of them.
TEST_F(Packaging, InstalledTreeNamesNoFolderOfTheBuild) {
  ASSERT_NO_FATAL_FAILURE(install());
  const std::vector<std::string> foreign = {BUILD, SOURCE, (folder_ / "first").string()};
  int binaries = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(prefix_)) {
    if (!entry.is_regular_file() || entry.is_symlink()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    std::string readable = text.str();
    if (readable.starts_with("\177ELF")) {
      ++binaries;
      readable = run("readelf -d " + shell_word(entry.path())).out;
    } else if (readable.starts_with("!<arch>")) {
      continue;
    }
    for (const std::string& folder : foreign)
      EXPECT_FALSE(names_folder(readable, folder)) << entry.path() << " names " << folder;
  }
  EXPECT_GE(binaries, 4);
}

TEST_F(Packaging, InstalledFilesSearchNoLibraryOutsideThePrefix) {
  ASSERT_NO_FATAL_FAILURE(install());
  const Ran checked = run(shell_word(SOURCE "/tests/packaging/check_run_paths") + " --within " +
                          shell_word(prefix_) + " " + shell_word(prefix_));
  EXPECT_EQ(checked.status, 0) << checked.out;
}

TEST_F(Packaging, InstalledUtilityFindsItsLibraries) {
  ASSERT_NO_FATAL_FAILURE(install());
  const fs::path utility = prefix_ / "bin/papi_version";
  if (!fs::exists(utility)) GTEST_SKIP() << "the utilities are not built here (package libcli11-dev)";
  const Ran ran = run(shell_word(utility));
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_NE(ran.out.find("7.3.0"), std::string::npos) << ran.out;
  EXPECT_TRUE(fs::exists(prefix_ / "share/man/man1/papi_version.1"));
  if (!fs::exists(prefix_ / "bin/substrata")) return;
  for (const char* file : {"share/man/man1/substrata.1", "share/bash-completion/completions/substrata",
                           "share/zsh/site-functions/_substrata"})
    EXPECT_GT(fs::file_size(prefix_ / file), 100u) << file;
}

// PA-14
TEST_F(Packaging, CMakeFindsEveryTargetAndVariable) {
  ASSERT_NO_FATAL_FAILURE(install());
  const Ran configured =
      run(shell_word(CMAKE) + " -S " + shell_word(fs::path(SOURCE) / "tests/packaging/names") + " -B " +
          shell_word(folder_ / "build") + " -G " + shell_word(GENERATOR) +
          " -DPREFIX=" + shell_word(prefix_) + " -DCMAKE_PREFIX_PATH=" + shell_word(prefix_));
  EXPECT_EQ(configured.status, 0) << configured.out;
}

// PA-14
TEST_F(Packaging, CMakeConsumerIsBuiltAndRuns) {
  ASSERT_NO_FATAL_FAILURE(install());
  expect_builds_by_cmake(consumers() / "cmake", std::string("-DCMAKE_C_COMPILER=") + shell_word(C_COMPILER));
}

// PA-45: the C++ interface, by CMake and by pkg-config.
TEST_F(Packaging, CxxConsumerIsBuiltBothWaysAndRuns) {
  ASSERT_NO_FATAL_FAILURE(install());
  const fs::path source = consumers() / "cxx";
  ASSERT_NO_FATAL_FAILURE(
      expect_builds_by_cmake(source, std::string("-DCMAKE_CXX_COMPILER=") + shell_word(CXX_COMPILER)));
  if (!has_tool("pkg-config")) return;
  const std::string flags =
      "$(PKG_CONFIG_PATH=" + shell_word(pkg_config_path()) + " pkg-config --cflags --libs substrata)";
  const Ran compiled =
      run(shell_word(CXX_COMPILER) + " -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Werror -o " +
          shell_word(source / "report") + " " + shell_word(source / "report.cpp") + " " + flags +
          " -Wl,-rpath," + shell_word(prefix_ / "lib"));
  ASSERT_EQ(compiled.status, 0) << compiled.out;
  expect_works(source / "report");
}

// PA-14
TEST_F(Packaging, MakeConsumerIsBuiltByPkgConfigAndRuns) {
  if (!has_tool("make") || !has_tool("pkg-config")) GTEST_SKIP() << "make or pkg-config is missing";
  ASSERT_NO_FATAL_FAILURE(install());
  const fs::path source = consumers() / "make";
  const Ran version =
      run("PKG_CONFIG_PATH=" + shell_word(pkg_config_path()) + " pkg-config --modversion papi");
  EXPECT_EQ(version.out, "7.3.0.0\n");
  const Ran built = run("make -C " + shell_word(source) + " CC=" + shell_word(C_COMPILER) +
                        " PKG_CONFIG_PATH=" + shell_word(pkg_config_path()));
  ASSERT_EQ(built.status, 0) << built.out;
  expect_works(source / "report");
}

TEST_F(Packaging, ProgramThatCarriesItsLibrariesMeasures) {
  for (const char* tool : {"make", "pkg-config", "readelf"})
    if (!has_tool(tool)) GTEST_SKIP() << tool << " is missing";
  if (run("test -e $(" + shell_word(C_COMPILER) + " -print-file-name=libpfm.a)").status != 0)
    GTEST_SKIP() << "there is no archive of libpfm here";
  ASSERT_NO_FATAL_FAILURE(install());
  const fs::path source = consumers() / "static";
  const Ran made = run("make -C " + shell_word(source) + " CC=" + shell_word(C_COMPILER) + " CXX=" +
                       shell_word(CXX_COMPILER) + " PKG_CONFIG_PATH=" + shell_word(pkg_config_path()));
  ASSERT_EQ(made.status, 0) << made.out;
  expect_carries_its_libraries(source / "measure_whole", true);
  expect_carries_its_libraries(source / "measure_standard", false);

  // libpapi alone: what libsde brings in the other programs left its flags untried.
  const std::string alone = shell_word(source / "alone");
  const Ran linked = run(
      shell_word(C_COMPILER) + " -static -o " + alone + " " + shell_word(source.parent_path() / "report.c") +
      " $(PKG_CONFIG_PATH=" + shell_word(pkg_config_path()) + " pkg-config --cflags --static --libs papi)");
  ASSERT_EQ(linked.status, 0) << linked.out;
  EXPECT_EQ(run(alone).status, 0);

  const fs::path build = folder_ / "build";
  const Ran configured =
      run(shell_word(CMAKE) + " -S " + shell_word(source) + " -B " + shell_word(build) + " -G " +
          shell_word(GENERATOR) + " -DCMAKE_C_COMPILER=" + shell_word(C_COMPILER) + " -DCMAKE_CXX_COMPILER=" +
          shell_word(CXX_COMPILER) + " -DCMAKE_PREFIX_PATH=" + shell_word(prefix_));
  ASSERT_EQ(configured.status, 0) << configured.out;
  const Ran built = run(shell_word(CMAKE) + " --build " + shell_word(build));
  ASSERT_EQ(built.status, 0) << built.out;
  expect_carries_its_libraries(build / "measure_whole", true);
  expect_carries_its_libraries(build / "measure_standard", false);
}

// PA-14: by --with-papi and AC_SEARCH_LIBS, and by PKG_CHECK_MODULES.
TEST_F(Packaging, AutoconfConsumerIsBuiltBothWaysAndRuns) {
  for (const char* tool : {"autoreconf", "aclocal", "make", "pkg-config"})
    if (!has_tool(tool)) GTEST_SKIP() << tool << " is missing";
  ASSERT_NO_FATAL_FAILURE(install());
  const fs::path source = consumers() / "autotools";
  const std::string there = "cd " + shell_word(source) + " && ";
  const Ran prepared = run(there + "autoreconf -i");
  ASSERT_EQ(prepared.status, 0) << prepared.out;
  const std::string by_folder = "./configure --with-papi=" + shell_word(prefix_);
  const std::string by_module = "PKG_CONFIG_PATH=" + shell_word(pkg_config_path()) + " ./configure";
  for (const std::string& configure : {by_folder, by_module}) {
    const Ran built = run(there + configure + " CC=" + shell_word(C_COMPILER) + " && make");
    ASSERT_EQ(built.status, 0) << configure << "\n" << built.out;
    expect_works(source / "report");
    ASSERT_EQ(run(there + "make clean").status, 0);
  }
}

// PA-14
TEST_F(Packaging, FortranConsumerIsBuiltAndRuns) {
  for (const char* tool : {"gfortran", "make", "pkg-config"})
    if (!has_tool(tool)) GTEST_SKIP() << tool << " is missing";
  ASSERT_NO_FATAL_FAILURE(install());
  const fs::path source = consumers() / "fortran";
  const Ran built =
      run("make -C " + shell_word(source) + " PKG_CONFIG_PATH=" + shell_word(pkg_config_path()));
  ASSERT_EQ(built.status, 0) << built.out;
  expect_works(source / "report");
  const Ran measured = run(shell_word(source / "measure"));
  EXPECT_EQ(measured.status, 0) << measured.out;
  EXPECT_NE(measured.out.find("page faults"), std::string::npos) << measured.out;
}

// The package stands beside the real PAPI: all its files below a prefix of its own, nothing provided or
// replaced, no script run at its installation. It is looked into, not installed.
TEST_F(Packaging, DebianPackagesHoldTheTreeAndConflictWithNothing) {
  if (!has_tool("dpkg-deb")) GTEST_SKIP() << "dpkg-deb is missing";
  const std::map<std::string, fs::path> packages = packed("");
  ASSERT_EQ(packages.size(), 2u);
  const std::string package = shell_word(packages.at("substrata"));

  const std::string fields = run("dpkg-deb --field " + package).out;
  for (const char* field : {"Conflicts", "Provides", "Replaces", "Breaks"})
    EXPECT_EQ(fields.find(field), std::string::npos) << fields;
  if (has_tool("dpkg-shlibdeps")) {
    EXPECT_TRUE(std::regex_search(fields, std::regex("Depends: .*libc6"))) << fields;
    EXPECT_TRUE(std::regex_search(fields, std::regex("Depends: .*libpfm4"))) << fields;
    EXPECT_FALSE(std::regex_search(fields, std::regex("Depends: .*libpapi"))) << fields;
  }

  const fs::path control = folder_ / "control";
  ASSERT_EQ(run("dpkg-deb --control " + package + " " + shell_word(control)).status, 0);
  std::set<std::string> control_files;
  for (const fs::directory_entry& entry : fs::directory_iterator(control))
    control_files.insert(entry.path().filename().string());
  EXPECT_EQ(control_files, (std::set<std::string>{"control", "md5sums"}));

  const fs::path root = folder_ / "root";
  for (const auto& [name, file] : packages)
    ASSERT_EQ(run("dpkg-deb --extract " + shell_word(file) + " " + shell_word(root)).status, 0) << name;
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root))
    if (!entry.is_directory() || entry.is_symlink())
      names.insert("/" + entry.path().lexically_relative(root).string());
  EXPECT_EQ(names.erase("/usr/lib/python3/dist-packages/substrata.pth"), 1u);
  for (const std::string& name : names) EXPECT_TRUE(name.starts_with("/opt/substrata/")) << name;
  for (const char* name :
       {"lib/libpapi.so.7.0", "lib/libpapi.so.7.1", "lib/libpapi.so.7.2", "lib/libpapi.so.7.3",
        "lib/libpapi.so", "lib/libsde.so.1", "lib/pkgconfig/papi.pc", "include/papi.h",
        "lib/cmake/PAPI/PAPIConfig.cmake", "share/doc/substrata/LICENSE"})
    EXPECT_EQ(names.count("/opt/substrata/" + std::string(name)), 1u) << name;

  // What the packages hold is what is installed.
  ASSERT_NO_FATAL_FAILURE(install());
  std::set<std::string> installed;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(prefix_))
    if (!entry.is_directory() || entry.is_symlink())
      installed.insert("/opt/substrata/" + entry.path().lexically_relative(prefix_).string());
  EXPECT_EQ(names, installed);
}

// The system's Python finds the packages, and they find the library of the package that theirs depends on.
TEST_F(Packaging, DebianPackageOfPythonMeasuresWithTheLibraryOfTheOther) {
  for (const char* tool : {"dpkg-deb", "python3"})
    if (!has_tool(tool)) GTEST_SKIP() << tool << " is missing";
  const std::map<std::string, fs::path> packages = packed("-D CPACK_COMPONENTS_ALL=python");
  ASSERT_EQ(packages.count("python3-substrata"), 1u);
  const std::string package = shell_word(packages.at("python3-substrata"));
  const std::string fields = run("dpkg-deb --field " + package).out;
  EXPECT_NE(fields.find("Architecture: all\n"), std::string::npos) << fields;
  EXPECT_NE(fields.find("Depends: python3 (>= 3.9), substrata (= "), std::string::npos) << fields;

  const fs::path root = folder_ / "root";
  ASSERT_EQ(run("dpkg-deb --extract " + package + " " + shell_word(root)).status, 0);
  const Ran installed = run(shell_word(CMAKE) + " --install " + shell_word(BUILD) +
                            " --component Unspecified --prefix " + shell_word(root / "opt/substrata"));
  ASSERT_EQ(installed.status, 0) << installed.out;
  std::ifstream path_file(root / "usr/lib/python3/dist-packages/substrata.pth");
  std::string path;
  ASSERT_TRUE(std::getline(path_file, path));
  EXPECT_EQ(path, "/opt/substrata/share/substrata/python");

  std::ofstream(folder_ / "count.py") << "import pypapi.papi_low, substrata, substrata_recording\n"
                                         "with substrata.measure('example:::ticks') as counted:\n"
                                         "    counted.read()\n"
                                         "print(counted.values)\n"
                                         "print(open('/proc/self/maps').read())\n";
  const Ran ran = run("env -u SUBSTRATA_PAPI_LIBRARY PYTHONPATH=" + shell_word(root.string() + path) +
                      " python3 -B " + shell_word(folder_ / "count.py"));
  EXPECT_EQ(ran.status, 0) << ran.out;
  EXPECT_TRUE(ran.out.starts_with("{'example:::ticks': ")) << ran.out;
  EXPECT_NE(ran.out.find((root / "opt/substrata/lib/libpapi.so.7.3").string()), std::string::npos) << ran.out;
}

}  // namespace
