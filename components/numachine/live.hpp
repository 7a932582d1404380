// The machine around a live program or a replay: its threads become processors.
#pragma once

#include <substrata/feed.h>

namespace substrata::numachine {

// substrata_machine::follow and unfollow.
void* follow_live(const substrata_run_options* options, substrata_run_result* result) noexcept;
void unfollow_live(void* following) noexcept;

// Runs everything that has come in so far through the followed machine, if there is one.
void drain_live() noexcept;
// Brings the findings that last_run() gives up to now, if a machine follows.
void refresh_live_findings();

}  // namespace substrata::numachine
