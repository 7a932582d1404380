// Reads the log back: a line of JSON, then the operations as they lie in memory.
#include "tools/model_runs/message_log.hpp"

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace substrata::model_runs {
namespace {

constexpr std::size_t kMostRanks = 256;

}  // namespace

MessageLog parse_message_log(std::string_view bytes) {
  constexpr std::size_t kBytes = sizeof(substrata_myrinet_operation);
  MessageLog log;
  const std::size_t line = bytes.find('\n');
  if (line == std::string_view::npos) throw std::runtime_error("it does not begin with a line of text");
  try {
    const nlohmann::json header = nlohmann::json::parse(bytes.substr(0, line));
    if (const auto version = header.at("substrata_mpi_messages").get<std::uint64_t>();
        version != mpi::MessageLogHeader::kVersion)
      throw std::runtime_error("it is of version " + std::to_string(version) + "; " +
                               std::to_string(mpi::MessageLogHeader::kVersion) + " can be read");
    if (header.at("machine").get<std::string>() != "myrinet")
      throw std::runtime_error("it is for another machine than myrinet");
    if (header.at("operation_bytes").get<std::uint64_t>() != kBytes)
      throw std::runtime_error("its operations have another size than " + std::to_string(kBytes) + " bytes");
    log.header.parameters = header.at("parameters").get<std::string>();
    log.header.factor = header.at("factor").get<double>();
    log.header.phases = header.at("phases").get<std::vector<std::string>>();
    log.header.operations = header.at("operations").get<std::vector<std::size_t>>();
    const nlohmann::json& messages = header.at("messages");
    const auto total = [&](const char* key) { return messages.at(key).get<std::uint64_t>(); };
    log.header.totals = {total("all"),       total("bytes"),
                         total("to_itself"), total("to_itself_bytes"),
                         total("left_out"),  total("left_out_bytes")};
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(std::string("its first line is not a message log's: ") + error.what());
  }
  const std::string_view rest = bytes.substr(line + 1);
  if (log.header.operations.empty() || log.header.operations.size() > kMostRanks)
    throw std::runtime_error("it has " + std::to_string(log.header.operations.size()) +
                             " ranks; 1 to 256 are possible");
  std::size_t left = rest.size() / kBytes;
  bool fits = rest.size() % kBytes == 0;
  for (const std::size_t count : log.header.operations) {
    fits = fits && count <= left;
    left -= fits ? count : 0;
  }
  if (!fits || left != 0)
    throw std::runtime_error("it is not whole: other operations follow than its first line says");
  log.operations.resize(rest.size() / kBytes);
  if (!rest.empty()) std::memcpy(log.operations.data(), rest.data(), rest.size());
  return log;
}

}  // namespace substrata::model_runs
