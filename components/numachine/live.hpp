// The machine around a live program or a replay: its threads become processors.
#pragma once

#include <string>

#include "sources/workloads/run.hpp"

namespace substrata::numachine {

// A machine that follows what is published.
void* begin_live(const workloads::Asked& asked, std::string& error);
void end_live(void* following) noexcept;

// Runs everything that has come in so far through the followed machine, if there is one.
void drain_live() noexcept;
// Brings the findings that last_run() gives up to now, if a machine follows.
void refresh_live_findings();

}  // namespace substrata::numachine
