// substrata module try: one module in five different capsules.
#pragma once

#include <string>

namespace substrata::tool {

// Attaches the module of this name with these registers between two caches, behind the second one, at a bus,
// at a network interface and at this process's page faults, runs traffic there, and prints what came of it.
// 0: every capsule saw transactions; 1: one did not, with the reason. Throws std::runtime_error for an
// unknown module.
int try_module(const std::string& name, const std::string& registers);

}  // namespace substrata::tool
