// The report of a reproduction: JSON, text, and what has changed since it was recorded.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "papers/reproduction.hpp"

namespace substrata::papers {

// Runs it. Members: id, title, sizes ("reduced" or "full") and claims, each with claim, paper, ours, verdict, why,
// interval and mutant; the last two are null for an observation.
nlohmann::ordered_json report_of(const Reproduction& reproduction, bool full, const Setting& setting);

// Adds to each claim of the report the recorded verdict; false if one has no verdict, or another one than recorded.
// Where null is recorded, these sizes have not been tried: a claim that differs is a change then.
// `claims`: the JSON of stated_claims.
bool compare_with_recorded(nlohmann::ordered_json& report, const std::string& claims);

std::string text_of(const nlohmann::ordered_json& report);

}  // namespace substrata::papers
