#!/usr/bin/env python3
"""Holds docs/reference/requirements.md to the sources, and the tests that other pages name as proofs. Needs no build.

  tests/requirements/check.py [SOURCE_FOLDER]

Prints one line for each mistake, with its place, and ends with 1 if there is one.
"""
import difflib
import os
import re
import subprocess
import sys

PAGE = "docs/reference/requirements.md"
PROOFS = ["docs/results/reliability.md", "docs/results/reliability_lost.md", "docs/security.md",
          "docs/results/hardware.md"]
NAMED = re.compile(r"`([A-Z]\w+\.(?:[A-Z]\w*\*?|[a-z]\w*|\*)|conformance\.\w+|\w+\.conformance)`")
ENTRY = re.compile(r"- \*\*([A-Z]{2})-(\d+)\*\* ")
PART = re.compile(r"  - (Tests|Also|Differs|Not proven): ")
TEST = re.compile(r"^[ \t]*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", re.M)
CTEST = re.compile(r"\b(?:add_test\(\s*NAME|substrata_program_test\()\s*([^\s)]+)")
BENCHMARK = re.compile(r"\bsubstrata_benchmark\(\s*(\w+)")


def files_of(root):
    """The repository's files; of a folder that is no repository, all but hidden and build folders."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"],
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return sorted({name for name in listed.stdout.split("\0") if os.path.isfile(os.path.join(root, name))})
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith((".", "build"))]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def text_of(root, name):
    with open(os.path.join(root, name), "rb") as file:
        data = file.read()
    return "" if b"\0" in data else data.decode("utf-8", "replace")


def read_page(text):
    """The entries in their order: (line, prefix, number, {part: (line, text)})."""
    entries, part = [], None
    for number, line in enumerate(text.split("\n"), 1):
        if entry := ENTRY.match(line):
            entries.append((number, entry[1], int(entry[2]), {}))
            part = None
        elif entries and (label := PART.match(line)):
            part = label[1]
            entries[-1][3][part] = (number, line[label.end():])
        elif part and line.startswith("    "):
            first, so_far = entries[-1][3][part]
            entries[-1][3][part] = (first, so_far + " " + line.strip())
        elif line.startswith(("#", "- ")):
            part = None
    return entries


class Sources:
    """What an entry may name."""

    def __init__(self, texts):
        self.names = {os.path.basename(name) for name in texts}
        self.tests, self.ctests, self.benchmarks, programs = set(), [], set(), []
        for name, text in texts.items():
            if name.endswith((".cpp", ".hpp", ".inc")):
                self.tests.update(f"{suite}.{test}" for suite, test in TEST.findall(text))
                if not name.startswith("tests/"):
                    programs.append(text)
            elif name.endswith(("CMakeLists.txt", ".cmake")):
                self.ctests += [(test, text) for test in CTEST.findall(text)]
                self.benchmarks.update(BENCHMARK.findall(text))
        self.programs = "\n".join(programs)

    def has_test(self, name):
        suite, _, test = name.partition(".")
        if test.endswith("*"):
            return any(known.startswith(name[:-1]) for known in self.tests)
        return name in self.tests or name in self.names or any(self.is_ctest(name, *known) for known in self.ctests)

    @staticmethod
    def is_ctest(name, pattern, cmake):
        """A variable in a name of CTest stands for a word of the same CMake file."""
        literal = [re.escape(piece) for piece in re.split(r"\$\{\w+\}", pattern)]
        match = re.fullmatch(r"(\w+)".join(literal), name)
        return bool(match) and all(re.search(rf"\b{word}\b", cmake) for word in match.groups())

    def has(self, name):
        if name.startswith("bench_"):
            return name[6:] in self.benchmarks
        if name.startswith("substrata reproduce "):
            return f'"{name.split()[-1]}"' in self.programs
        return True

    def nearest(self, name):
        near = difflib.get_close_matches(name, self.tests, 1)
        return f"; the nearest is {near[0]}" if near else ""


def check(root):
    texts = {name: text_of(root, name) for name in files_of(root)}
    if PAGE not in texts:
        return [f"{PAGE}: missing"]
    sources, entries, wrong = Sources(texts), read_page(texts[PAGE]), []
    if not entries:
        return [f"{PAGE}: no requirement found"]

    # Numbers: once each, in order, chapter by chapter.
    prefixes = list(dict.fromkeys(prefix for _, prefix, _, _ in entries))
    before = None
    for line, prefix, number, _ in entries:
        place = (prefixes.index(prefix), number)
        if before is not None and place <= before:
            wrong.append(f"{PAGE}:{line}: {prefix}-{number} is there twice or out of order")
        before = place if before is None else max(before, place)

    # Each entry is proved, or says what is not.
    for line, prefix, number, parts in entries:
        name = f"{prefix}-{number}"
        tests = re.findall(r"`([^`]+)`", parts["Tests"][1]) if "Tests" in parts else []
        if not tests and not parts.get("Not proven", (0, ""))[1].strip():
            wrong.append(f"{PAGE}:{line}: {name} has neither a test nor a reason under 'Not proven'")
        for test in tests:
            if not sources.has_test(test):
                wrong.append(f"{PAGE}:{parts['Tests'][0]}: {name}: no test '{test}'{sources.nearest(test)}")
        for part in ("Also", "Differs", "Not proven"):
            for token in re.findall(r"`([^`]+)`", parts.get(part, (0, ""))[1]):
                known = sources.has_test(token) if re.fullmatch(r"[A-Z]\w+\.(\w+|\*)", token) else sources.has(token)
                if not known:
                    wrong.append(f"{PAGE}:{parts[part][0]}: {name}: there is no '{token}'")

    for page in PROOFS:
        for match in NAMED.finditer(texts.get(page, "")):
            if match[1] != "Torture.EXPERIMENT" and not sources.has_test(match[1]):
                line = texts[page].count("\n", 0, match.start()) + 1
                wrong.append(f"{page}:{line}: no test '{match[1]}'{sources.nearest(match[1])}")

    # Citations.
    defined = {f"{prefix}-{number}" for _, prefix, number, _ in entries}
    cited = re.compile(r"(?<![\w-])(?:" + "|".join(prefixes) + r")-\d+(?!\w)")
    for name, text in texts.items():
        for match in cited.finditer(text):
            place = f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
            if match[0] not in defined:
                wrong.append(f"{place}: {match[0]} does not stand in {PAGE}")
            elif name.startswith("include/"):
                wrong.append(f"{place}: an installed header cites {match[0]}; its reader has no such list")
    return wrong


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    wrong = check(root)
    print("\n".join(wrong) if wrong else f"{PAGE} agrees with the sources")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
