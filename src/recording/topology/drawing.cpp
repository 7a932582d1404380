// Lays the tree out as lines or boxes.
#include "recording/topology/drawing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <ostream>

#include "base/json.hpp"

namespace substrata::topology {
namespace {

std::string described(const Object& object) {
  return object.name + (object.about.empty() ? "" : " " + object.about);
}

std::string sensors_text(const Object& object) {
  constexpr std::size_t kMost = 4;
  std::string out;
  for (std::size_t i = 0; i < object.sensors.size() && i < kMost; ++i)
    out += (i == 0 ? "  [" : ", ") + object.sensors[i];
  if (object.sensors.size() > kMost)
    out += ", and " + std::to_string(object.sensors.size() - kMost) + " more";
  return out.empty() ? out : out + "]";
}

// A core's own logical processors are part of its line.
bool is_leaf(const Object& object) {
  return object.kind == Kind::kCore || object.kind == Kind::kProcessor || object.parts.empty();
}

std::string leaf_text(const Object& object) {
  std::string out = described(object);
  if (object.kind == Kind::kCore)
    out += (object.processors.size() == 1 ? ": processor " : ": processors ") +
           recording::numbers_text(object.processors);
  return out + sensors_text(object);
}

void write_lines(std::ostream& out, const Object& object, std::size_t depth) {
  std::string line(2 * depth, ' ');
  const Object* at = &object;
  while (!is_leaf(*at) && at->parts.size() == 1 && at->kind == Kind::kCache) {
    line += described(*at) + sensors_text(*at) + ", ";
    at = &at->parts.front();
  }
  if (is_leaf(*at)) {
    out << line << leaf_text(*at) << "\n";
    return;
  }
  out << line << described(*at) << sensors_text(*at) << "\n";
  for (const Object& part : at->parts) write_lines(out, part, depth + 1);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

// What a processor's box says: who ran there longest, and for how much of the time it was busy.
struct Load {
  double seconds = 0;
  double most = 0;
  std::string who;
};

std::map<int, Load> loads_of(const recording::Placement& placement) {
  std::map<int, Load> out;
  for (const recording::Task& task : placement.tasks)
    for (const auto& [processor, seconds] : task.ran) {
      Load& load = out[processor];
      load.seconds += seconds;
      if (seconds <= load.most) continue;
      load.most = seconds;
      load.who = task_name(task, placement);
    }
  return out;
}

// A box: where it is relative to the box around it, and what is in it.
struct Box {
  const Object* object = nullptr;
  std::vector<std::string> lines;
  double busy = 0;  // share of the time
  double x = 0, y = 0, width = 0, height = 0;
  std::vector<Box> parts;
};

constexpr double kLine = 15, kLetter = 6.6, kGap = 6;

Box box_of(const Object& object, const std::map<int, Load>& loads, double seconds) {
  Box box;
  box.object = &object;
  box.lines.push_back(described(object));
  if (object.kind == Kind::kProcessor)
    if (const auto found = loads.find(object.number); found != loads.end() && seconds > 0) {
      box.busy = std::min(1.0, found->second.seconds / seconds);
      box.lines.push_back(found->second.who);
    }
  for (std::size_t i = 0; i < object.sensors.size() && i < 3; ++i) box.lines.push_back(object.sensors[i]);
  double text = 0;
  for (std::string& line : box.lines) {
    if (line.size() > 44) line = line.substr(0, 41) + "...";
    text = std::max(text, kLetter * static_cast<double>(line.size()));
  }
  const double head = kLine * static_cast<double>(box.lines.size()) + kGap;
  for (const Object& part : object.parts) box.parts.push_back(box_of(part, loads, seconds));
  // Rows of about as many boxes as there are rows, twice as wide as high.
  double widest = 0, area = 0;
  for (const Box& part : box.parts) {
    widest = std::max(widest, part.width);
    area += (part.width + kGap) * (part.height + kGap);
  }
  const double limit = std::max(widest, std::sqrt(2.4 * area));
  double x = kGap, y = head, row = 0;
  box.width = text + 2 * kGap;
  for (Box& part : box.parts) {
    if (x > kGap && x + part.width > limit + 2 * kGap) {
      x = kGap;
      y += row + kGap;
      row = 0;
    }
    part.x = x;
    part.y = y;
    x += part.width + kGap;
    row = std::max(row, part.height);
    box.width = std::max(box.width, x);
  }
  box.height = box.parts.empty() ? head + kGap / 2 : y + row + kGap;
  return box;
}

const char* style_of(Kind kind) {
  constexpr const char* kNames[] = {"machine", "package", "memory",    "group",
                                    "cache",   "core",    "processor", "device"};
  return kNames[static_cast<std::size_t>(kind)];
}

void write_box(std::ostream& out, const Box& box, double x, double y) {
  char line[400];
  std::snprintf(line, sizeof line,
                "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\"/>\n",
                style_of(box.object->kind), x, y, box.width, box.height);
  out << line;
  if (box.busy > 0) {
    std::snprintf(line, sizeof line,
                  "<rect class=\"busy\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\" "
                  "fill-opacity=\"%.2f\"/>\n",
                  x, y, box.width, box.height, 0.15 + 0.6 * box.busy);
    out << line;
  }
  for (std::size_t i = 0; i < box.lines.size(); ++i) {
    std::snprintf(line, sizeof line, "<text x=\"%.1f\" y=\"%.1f\"%s>", x + kGap,
                  y + kLine * static_cast<double>(i + 1) - 2, i == 0 ? "" : " class=\"more\"");
    out << line << escaped(box.lines[i]) << "</text>\n";
  }
  for (const Box& part : box.parts) write_box(out, part, x + part.x, y + part.y);
}

void write_object(std::ostream& out, const Object& object, std::size_t depth) {
  const std::string space(2 * depth, ' ');
  out << space << "{\"kind\":\"" << style_of(object.kind) << "\",\"name\":" << json_quoted(object.name);
  if (!object.about.empty()) out << ",\"about\":" << json_quoted(object.about);
  if (object.number >= 0) out << ",\"number\":" << object.number;
  if (object.bytes != 0) out << ",\"bytes\":" << object.bytes;
  if (!object.address.empty()) out << ",\"pci\":" << json_quoted(object.address);
  if (!object.processors.empty())
    out << ",\"processors\":" << json_quoted(recording::numbers_text(object.processors));
  for (std::size_t i = 0; i < object.sensors.size(); ++i)
    out << (i == 0 ? ",\"sensors\":[" : ",") << json_quoted(object.sensors[i]);
  if (!object.sensors.empty()) out << "]";
  for (std::size_t i = 0; i < object.parts.size(); ++i) {
    out << (i == 0 ? ",\"parts\":[\n" : ",\n");
    write_object(out, object.parts[i], depth + 1);
  }
  out << (object.parts.empty() ? "}" : "]}");
}

}  // namespace

void write_text(std::ostream& out, const Machine& machine) { write_lines(out, machine.root, 0); }

void write_svg(std::ostream& out, const Machine& machine, const recording::Placement* placement) {
  std::map<int, Load> loads;
  if (placement != nullptr) loads = loads_of(*placement);
  const Box box = box_of(machine.root, loads, placement != nullptr ? placement->seconds : 0);
  char head[300];
  std::snprintf(head, sizeof head,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
                "%.0f\" font-family=\"sans-serif\" font-size=\"11\">\n",
                box.width + 2 * kGap, box.height + 2 * kGap, box.width + 2 * kGap, box.height + 2 * kGap);
  out << head
      << "<style>\n"
         "svg{background:#fff}text{fill:#1a1a1a}.more{fill:#555}rect{stroke:#8a8f98;fill:#fff}\n"
         ".package{fill:#f2f4f7}.memory{fill:#e6f0e6}.cache{fill:#f7f7f7}.core{fill:#e9edf5}\n"
         ".device{fill:#f6efe2}.busy{fill:#d1603d;stroke:none}\n"
         "@media (prefers-color-scheme:dark){svg{background:#16181c}text{fill:#e8e8e8}.more{fill:#a8adb5}\n"
         "rect{stroke:#5c626c;fill:#16181c}.package{fill:#1f2329}.memory{fill:#1d2b20}.cache{fill:#22262c}\n"
         ".core{fill:#252c3a}.device{fill:#2f2a1f}.busy{fill:#d1603d}}\n</style>\n";
  write_box(out, box, kGap, kGap);
  out << "</svg>\n";
}

void write_json(std::ostream& out, const Machine& machine) {
  write_object(out, machine.root, 0);
  out << "\n";
}

void write_tasks(std::ostream& out, const recording::Placement& placement) {
  constexpr std::size_t kMost = 40;
  std::vector<const recording::Task*> tasks;
  for (const recording::Task& task : placement.tasks) tasks.push_back(&task);
  std::stable_sort(tasks.begin(), tasks.end(), [](const recording::Task* a, const recording::Task* b) {
    return a->ran_s + a->waited_s > b->ran_s + b->waited_s;
  });
  char line[200];
  std::snprintf(line, sizeof line, "%.3f s, %zu tasks seen, %.0f ms between looks\n", placement.seconds,
                tasks.size() + placement.left_out, 1e3 * placement.interval);
  out << "Who ran where: " << line;
  std::snprintf(line, sizeof line, "  %-34s %9s %9s %7s  %-12s %s\n", "task", "ran", "waited", "moves",
                "may use", "processor: share of its time");
  out << line;
  for (std::size_t i = 0; i < tasks.size() && i < kMost; ++i) {
    const recording::Task& task = *tasks[i];
    std::string where;
    std::vector<std::pair<double, int>> most;
    for (const auto& [processor, seconds] : task.ran)
      if (seconds > 0) most.emplace_back(-seconds, processor);
    std::sort(most.begin(), most.end());
    for (std::size_t j = 0; j < most.size() && j < 4; ++j) {
      std::snprintf(line, sizeof line, "%s%d: %.0f %%", j == 0 ? "" : ", ", most[j].second,
                    100 * -most[j].first / task.ran_s);
      where += line;
    }
    if (most.size() > 4) where += ", ...";
    std::snprintf(line, sizeof line, "  %-34s %7.3f s %7.3f s %s%6lld  %-12s %s\n",
                  task_name(task, placement).substr(0, 34).c_str(), task.ran_s, task.waited_s,
                  task.moves_counted ? " " : ">", static_cast<long long>(task.moves),
                  recording::numbers_text(task.allowed).substr(0, 12).c_str(), where.c_str());
    out << line;
  }
  if (tasks.size() > kMost) out << "  and " << tasks.size() - kMost << " more\n";
}

void write_findings(std::ostream& out, const std::vector<recording::Finding>& findings) {
  for (const recording::Finding& one : findings) {
    out << "warning: " << one.text << ".\n  seen: " << one.evidence << "\n  do: " << one.cure << "\n";
    if (!one.limits.empty()) out << "  limit: " << one.limits << "\n";
  }
}

}  // namespace substrata::topology
