// Asks the processors for their recipes and tries each one.
#include "core/events/preset_recipes.hpp"

#include <algorithm>
#include <cstring>

#include "core/events/derived.hpp"
#include "core/events/preset.hpp"

namespace substrata {
namespace {

// Programs, starts and stops the events on a set of their own, under an attachment of its own.
Status try_events(Component& component, const Recipe& recipe) {
  // A recipe may name one event twice.
  std::vector<uint32_t> once;
  for (uint32_t i = 0; i < recipe.term_count; ++i) {
    if (std::find(once.begin(), once.end(), recipe.terms[i]) == once.end()) once.push_back(recipe.terms[i]);
  }
  const SubstrateTable& table = component.table();
  Thread* thread = nullptr;
  if (const Status status = keep_note(table.attach(component.device(), &thread)); !status.ok()) return status;
  Set* set = nullptr;
  Status status = keep_note(table.create_set(component.device(), thread, &set));
  if (status.ok()) {
    status = keep_note(table.program(set, once.data(), static_cast<uint32_t>(once.size())));
    if (status.ok()) status = keep_note(table.start(set));
    if (status.ok()) status = keep_note(table.stop(set));
    table.destroy_set(set);
  }
  table.detach(component.device(), thread);
  return status;
}

// An infix formula is shown as the postfix one it amounts to, as PAPI does.
Status write_postfix(const Formula& formula, Recipe* recipe) {
  const std::string text = formula.postfix();
  if (text.size() >= sizeof recipe->postfix)
    return refuse(Code::kInvalid, "the formula is too long: %u characters as postfix",
                  static_cast<unsigned>(text.size()));
  std::strcpy(recipe->postfix, text.c_str());
  std::strcpy(recipe->derived, derived_name(DerivedKind::kPostfix));
  return kSuccess;
}

}  // namespace

const PresetRecipes::Answer& PresetRecipes::of(uint32_t preset) {
  if (answers_.size() < kPresetCount) answers_.resize(kPresetCount);
  Answer& answer = answers_[preset];
  if (answer.asked) return answer;
  answer.why.clear();  // of an answer that memory ended
  for (int i = 0; i < registry_.count() && !answer.available; ++i) {
    Component* component = registry_.at(i);
    if (!component->has(kProcessor) || component->table().recipe == nullptr) continue;
    Recipe recipe;
    Status status = component->recipe(preset_at(preset)->name, &recipe);
    if (status.ok()) {
      const Result<DerivedKind> kind = parse_derived_kind(recipe.derived);
      const Result<Formula> formula =
          kind ? Formula::make(*kind, recipe.postfix, recipe.term_count) : Result<Formula>(kind.error());
      status = formula.status();
      if (formula && *kind == DerivedKind::kInfix) status = write_postfix(*formula, &recipe);
    }
    if (status.ok()) status = try_events(*component, recipe);
    if (status.ok()) {
      answer.available = true;
      answer.component = i;
      answer.recipe = recipe;
      answer.why.clear();
    } else if (answer.why.empty()) {
      answer.why = std::string(component->name()) + ": " +
                   (status.note != nullptr ? status.note : "its events do not open here");
    }
  }
  if (!answer.available && answer.why.empty()) answer.why = "no component of this machine forms presets";
  answer.asked = true;
  return answer;
}

}  // namespace substrata
