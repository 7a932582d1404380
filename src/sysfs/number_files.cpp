// Finds numbers in the kernel's text files, follows counts across their wrap, and writes what may be written.
#include "sysfs/number_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/uninterrupted.hpp"

namespace substrata::sysfs {
namespace {

constexpr size_t kFirstLine = 256;  // the longest first line that is looked at
constexpr size_t kMoreText = 4096;  // by which a file may grow

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view take_line(std::string_view* text) noexcept {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

std::string_view take_word(std::string_view* line) noexcept {
  while (!line->empty() && is_blank(line->front())) line->remove_prefix(1);
  size_t end = 0;
  while (end < line->size() && !is_blank((*line)[end])) ++end;
  const std::string_view word = line->substr(0, end);
  line->remove_prefix(end);
  return word;
}

bool ends_with_star(std::string_view line) noexcept {
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return !line.empty() && line.back() == '*';
}

// Takes the source's key off the front of the line; false if it does not begin so.
bool take_key(std::string_view* line, const NumberSource& source) noexcept {
  if (source.starred) return ends_with_star(*line);
  for (const std::string* key : {&source.key, &source.other_key}) {
    if (key == &source.other_key && key->empty()) break;
    if (!line->starts_with(*key)) continue;
    line->remove_prefix(key->size());
    return true;
  }
  return false;
}

bool needs_whole(const NumberSource& source) noexcept { return source.starred || !source.key.empty(); }

int64_t value_of(const NumberSource& source, uint64_t number) noexcept {
  const int64_t bits = static_cast<int64_t>(number);
  if (source.unit != 0) return std::bit_cast<int64_t>(static_cast<double>(bits) * source.unit);
  if (source.times == 1 && source.by == 1) return bits;
  return static_cast<int64_t>(number * static_cast<uint64_t>(source.times)) / source.by;
}

// A first line that begins with digits, and is nothing else unless more may follow: all else is left to find_number.
bool is_plain_number(std::string_view text, const NumberSource& source, uint64_t* number) noexcept {
  constexpr size_t kNeverTooLarge = 19;
  if (needs_whole(source) || source.word != 0) return false;
  uint64_t sum = 0;
  size_t end = 0;
  for (; end < text.size() && static_cast<unsigned char>(text[end] - '0') < 10; ++end)
    sum = sum * 10 + static_cast<uint64_t>(text[end] - '0');
  if (end == 0 || end > kNeverTooLarge) return false;
  // As number_at_front has it: no fraction, no hexadecimal number. A '@' comes before a time.
  const char next = end == text.size() ? '\n' : text[end];
  if (next != '\n' && next != '@' && (!source.more_follows || next == '.' || next == 'x' || next == ','))
    return false;
  *number = sum;
  return true;
}

// 0, or errno: EINVAL where the number is not in the text. `whole`: more text does not follow.
int number_in(std::string_view word, const NumberSource& source, bool whole, int64_t* value) noexcept {
  uint64_t number = 0;
  if (word.empty() && source.zero_without_line && whole) {
    *value = 0;
    return 0;
  }
  if (!number_at_front(word, &number)) return EINVAL;
  *value = value_of(source, number);
  return 0;
}

// One number of a file that is opened for it. 0, or errno.
int read_once(const NumberSource& source, int64_t* value) {
  std::string text;
  if (!read_text(source.path, &text)) return errno;
  return number_in(find_number(text, source), source, true, value);
}

// 0, or errno.
int write_once(const std::string& path, int64_t value) noexcept {
  char text[24];
  const int length = std::snprintf(text, sizeof text, "%lld\n", static_cast<long long>(value));
  const ssize_t file =
      uninterrupted([&] { return result_or_error(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC)); });
  if (file < 0) return static_cast<int>(-file);
  const ssize_t wrote = uninterrupted(
      [&] { return result_or_error(::write(static_cast<int>(file), text, static_cast<size_t>(length))); });
  ::close(static_cast<int>(file));
  if (wrote < 0) return static_cast<int>(-wrote);
  return wrote == length ? 0 : EIO;
}

}  // namespace

std::string_view find_number(std::string_view text, const NumberSource& source) noexcept {
  while (!text.empty()) {
    std::string_view line = take_line(&text);
    if (!take_key(&line, source)) {
      if (!needs_whole(source)) return {};
      continue;
    }
    for (uint32_t skipped = 0; skipped < source.word; ++skipped) take_word(&line);
    const std::string_view number = take_word(&line);
    const bool alone = !needs_whole(source) && source.word == 0 && !source.more_follows;
    return alone && !take_word(&line).empty() ? std::string_view() : number;
  }
  return {};
}

bool number_at_front(std::string_view word, uint64_t* number) noexcept {
  const bool negative = !word.empty() && word.front() == '-';
  if (negative) word.remove_prefix(1);
  uint64_t magnitude = 0;
  const size_t length = leading_number(word, &magnitude);
  if (length == 0) return false;
  if (length != word.size() && (word[length] == '.' || word[length] == 'x' || word[length] == ','))
    return false;
  *number = negative ? 0 - magnitude : magnitude;
  return true;
}

Status NumberSampler::failed(const char* name, int error) const noexcept {
  if (error == ENODEV || error == ENOENT) {
    return refuse_system(error,
                         "%s has vanished (its driver was unloaded or the device removed); remove it "
                         "from the set",
                         name);
  }
  if (error == EINVAL) return refuse_system(error, "%s: its file shows no number now", name);
  return refuse_system(error, "%s cannot be read: %s", name, std::strerror(error));
}

CatalogueEntry entry_of(const Quantity& quantity, std::string name, const std::string& whose) {
  CatalogueEntry entry;
  entry.name = std::move(name);
  entry.text = quantity.text + (" " + whose);
  entry.unit = quantity.unit;
  entry.kind = quantity.counts ? ValueKind::kCount : ValueKind::kGauge;
  entry.flags = quantity.scope;
  return entry;
}

Status NumberSampler::add(const Number& number, const char* name, bool counts) {
  const uint32_t position = size();
  File* its = nullptr;
  for (File& file : files_)
    if (file.path == number.source.path) its = &file;
  if (its == nullptr) {
    File file;
    file.path = number.source.path;
    const int error = file.file.open(file.path);
    if (error != 0) {
      return refuse(error == EACCES ? Code::kPermission : Code::kSystem, error, "%s cannot be opened: %s",
                    name, std::strerror(error));
    }
    files_.push_back(std::move(file));
    its = &files_.back();
    const std::string& renewed = number.source.renewed;
    if (files_.size() > 1 && !renewed.empty() && !renewed_.is_open()) renewed_.open(renewed);
  }
  size_t capacity = kFirstLine;
  if (needs_whole(number.source)) {
    std::string now;
    if (!its->whole && read_text(its->path, &now)) capacity = now.size() * 2 + kMoreText;
    its->whole = true;
  }
  if (text_.size() < capacity) text_.resize(capacity);
  its->events.push_back(position);
  selected_.push_back({&number, name, counts});
  now_.resize(selected_.size());
  return kSuccess;
}

// The position of the first event of the file whose number is not in the text, or kAllThere.
uint32_t NumberSampler::take_from(const File& file, std::string_view text, bool whole,
                                  int64_t* raw) const noexcept {
  std::string_view rest = text;  // lines mostly stand in the order of the events
  for (const uint32_t i : file.events) {
    const NumberSource& source = selected_[i].number->source;
    if (uint64_t number = 0; is_plain_number(text, source, &number)) {
      raw[i] = value_of(source, number);
      continue;
    }
    std::string_view word = source.key.empty() ? std::string_view() : find_number(rest, source);
    if (word.empty()) word = find_number(text, source);
    if (!word.empty()) rest = text.substr(static_cast<size_t>(word.data() + word.size() - text.data()));
    if (number_in(word, source, whole, &raw[i]) != 0) return i;
  }
  return kAllThere;
}

// Values of several files are of one moment if they were not renewed meanwhile.
Status NumberSampler::sample(int64_t* raw) noexcept {
  if (!renewed_.is_open()) return sample_once(raw);
  constexpr int kMostTries = 8;  // the values are renewed some times a second
  for (int tried = 0; tried < kMostTries; ++tried) {
    char before[kFirstLine], after[kFirstLine];
    const int64_t length = renewed_.read_some(before, sizeof before, 0);
    if (length < 0) return failed(selected_[0].name, static_cast<int>(-length));
    if (const Status status = sample_once(raw); !status.ok()) return status;
    if (renewed_.read_some(after, sizeof after, 0) == length &&
        std::memcmp(before, after, static_cast<size_t>(length)) == 0)
      return kSuccess;
  }
  return refuse_system(EAGAIN, "%s and the set's other values were renewed each time they were read",
                       selected_[0].name);
}

Status NumberSampler::sample_once(int64_t* raw) noexcept {
  for (const File& file : files_) {
    const size_t capacity = file.whole ? text_.size() : kFirstLine;
    size_t have = 0;
    for (;;) {
      const int64_t got = file.file.read_some(text_.data() + have, capacity - have, have);
      if (got < 0) return failed(selected_[file.events[0]].name, static_cast<int>(-got));
      have += static_cast<size_t>(got);
      const bool whole = got == 0 || have == capacity || !file.whole;
      if (!whole && text_[have - 1] != '\n') continue;
      const uint32_t missing = take_from(file, {text_.data(), have}, whole, raw);
      if (missing == kAllThere) break;
      if (whole) return failed(selected_[missing].name, EINVAL);
    }
  }
  return kSuccess;
}

Status NumberSampler::growth(uint32_t i, int64_t from, int64_t to, int64_t* out) const noexcept {
  const NumberSource& source = selected_[i].number->source;
  const uint64_t before = static_cast<uint64_t>(from);
  const uint64_t after = static_cast<uint64_t>(to);
  constexpr uint64_t k32 = uint64_t{1} << 32;
  *out = static_cast<int64_t>(after - before);
  if (after >= before) return kSuccess;
  if (source.wrap == Wrap::kBinary) {
    if (before >= k32 && after - before < uint64_t{1} << 63) return kSuccess;
    if (before < k32 && after + k32 - before < k32 / 2) {
      *out += static_cast<int64_t>(k32);
      return kSuccess;
    }
  }
  if (source.wrap == Wrap::kRange && source.range >= before) {
    *out = static_cast<int64_t>(source.range - before + after);
    return kSuccess;
  }
  return refuse(Code::kCountersLost, "%s went backwards: it was reset; start the set again",
                selected_[i].name);
}

Status NumberSampler::write(const int64_t* values) noexcept {
  uint32_t settable = 0;
  for (uint32_t i = 0; i < size(); ++i) {
    const NumberSource& source = selected_[i].number->source;
    if (source.written.empty()) continue;
    ++settable;
    if (values[i] < source.least || values[i] > source.most) {
      return refuse(Code::kInvalid, "%s takes %lld to %lld, not %lld", selected_[i].name,
                    static_cast<long long>(source.least), static_cast<long long>(source.most),
                    static_cast<long long>(values[i]));
    }
  }
  if (settable == 0) return {Code::kNoSupport, 0, "no event of this set can be written"};
  Status status = sample(now_.data());
  if (!status.ok()) return status;
  uint32_t done = 0;
  for (; done < size() && status.ok(); ++done) {
    const Number& number = *selected_[done].number;
    if (number.setting == nullptr) continue;
    const int error = write_once(number.source.written, values[done]);
    if (error != 0) {
      const bool forbidden = error == EACCES || error == EPERM || error == EROFS;
      status = refuse(forbidden ? Code::kPermission : Code::kSystem, error, "%s cannot be set: %s%s",
                      number.source.written.c_str(), std::strerror(error),
                      forbidden          ? "; only root may write it"
                      : error == ENODATA ? "; the machine's firmware has locked it"
                                         : "");
      break;
    }
    bool unset = false;
    if (number.setting->is_set.compare_exchange_strong(unset, true)) number.setting->before = now_[done];
    // The driver rounds to its own steps: what stands there now is ours.
    int64_t ours = values[done];
    if (read_once(number.source, &ours) != 0) ours = values[done];
    number.setting->ours = ours;
  }
  if (status.ok()) return status;
  while (done-- > 0)
    if (const Number& number = *selected_[done].number; number.setting != nullptr)
      write_once(number.source.written, now_[done]);
  return status;
}

NumberFiles::~NumberFiles() {
  for (const Number& number : numbers_) {
    int64_t now = 0;
    if (number.setting != nullptr && number.setting->is_set && read_once(number.source, &now) == 0 &&
        now == number.setting->ours)
      write_once(number.source.written, number.setting->before);
  }
}

void NumberFiles::add(CatalogueEntry entry, NumberSource source) {
  int64_t value = 0;
  const int error = source.reads_slowly ? KeptFile().open(source.path) : read_once(source, &value);
  if (error == EINVAL) {
    entry.flags |= kEventUnavailable;
    entry.refusal = Code::kNoSupport;
    entry.why = source.path + " shows no number for it on this machine";
  } else {
    mark_unopened(source.path, error,
                  source.permission != nullptr
                      ? source.permission
                      : " may not be read by this user: run as root, or chmod a+r that file",
                  &entry);
  }
  if (source.unit != 0) entry.type = ValueType::kDouble;
  Number number;
  if (!source.written.empty()) number.setting = std::make_unique<Setting>();
  number.source = std::move(source);
  catalogue_.add(std::move(entry));
  numbers_.push_back(std::move(number));
}

void NumberFiles::add_unavailable(CatalogueEntry entry, std::string why) {
  entry.flags |= kEventUnavailable;
  entry.why = std::move(why);
  add_other(std::move(entry));
}

void NumberFiles::add_other(CatalogueEntry entry) {
  catalogue_.add(std::move(entry));
  numbers_.emplace_back();
}

Status NumberFiles::select(const uint32_t* events, uint32_t count, NumberSampler* out) const {
  NumberSampler sampler;
  for (uint32_t i = 0; i < count; ++i) {
    const CatalogueEntry& entry = catalogue_.entry(events[i]);
    const Status status =
        sampler.add(numbers_[events[i]], entry.name.c_str(), entry.kind == ValueKind::kCount);
    if (!status.ok()) return status;
  }
  *out = std::move(sampler);
  return kSuccess;
}

}  // namespace substrata::sysfs
