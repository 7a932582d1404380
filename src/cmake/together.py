#!/usr/bin/env python3
"""together.py LIST OUT: which sources of a target may be compiled as one. LIST has a line a target: its name, its
folder, its sources, with tabs between. OUT becomes CMake code that names the group of each source. Two sources go
together where neither writes a name that the other declares outside of its classes and functions. What defines a macro,
and what targets of two folders compile (a program may link both), goes alone."""
import collections
import os
import pathlib
import re
import sys

MOST_BYTES = 60000
TOKEN = re.compile(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'(?!\w)|'
                   r"^[ \t]*#(?:\\\n|[^\n])*|[A-Za-z_]\w*|::|->|[^\sA-Za-z_]", re.DOTALL | re.MULTILINE)
# What stands before a parenthesis, a brace, ... outside of functions and declares nothing.
NO_NAMES = frozenset("""alignas class const constexpr decltype default defined delete enum extern final if inline
    namespace noexcept operator override requires return sizeof static static_assert struct template typename union
    using int unsigned signed char bool double float long short void auto
    TEST TEST_F TEST_P TYPED_TEST TYPED_TEST_SUITE INSTANTIATE_TEST_SUITE_P
    std string""".split())


def names(text):
    """The names that a source declares where others would see them, all that it writes, and whether it may be put
    among others at all."""
    declared, written, alone = set(), set(), False
    kinds = []  # of the open braces: whether names in them are those of a namespace
    opens_namespace, parentheses, before, last = False, 0, "", ""
    for token in (match[0] for match in TOKEN.finditer(text)):
        if token.startswith(("//", "/*")):
            continue
        if token.lstrip().startswith("#"):
            directive = token.split()
            alone = alone or re.match(r"\s*#\s*(define|pragma|undef)\b", token) is not None
            continue
        outside = all(kinds) and parentheses == 0
        if token[0].isidentifier():
            if last not in (".", "->"):
                written.add(token)
            if outside and last in ("class", "struct", "enum", "union"):
                declared.add(token)
            if outside and token == "namespace":
                opens_namespace = True
        elif token == "{":
            if outside and not opens_namespace and last.isidentifier() and before not in ("::", "namespace"):
                declared.add(last)
            kinds.append(opens_namespace or (outside and before == "extern"))
            opens_namespace = False
        elif token == "}":
            if kinds:
                kinds.pop()
        elif outside and token in "(=;[" and last.isidentifier() and before != "::":
            if not opens_namespace:
                declared.add(last)
        if token == "(":
            parentheses += 1
        elif token == ")":
            parentheses -= 1
        elif token == ";":
            opens_namespace = False
        before, last = last, token
    return declared - NO_NAMES, written, alone


def main():
    found, groups, group_of, lines, folders = {}, {}, {}, [], collections.defaultdict(set)
    targets = [line.split("\t") for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
    for _, folder, *sources in targets:
        for source in sources:
            folders[os.path.normpath(os.path.join(folder, source))].add(folder)
    for target, folder, *sources in targets:
        for source in sources:
            path = pathlib.Path(os.path.normpath(os.path.join(folder, source)))
            if (folder, source) not in group_of:
                if path not in found:
                    text = path.read_text(errors="replace") if path.exists() else "#define"
                    found[path] = (*names(text), len(text))
                declared, written, alone, length = found[path]
                if alone or len(folders[str(path)]) > 1:
                    group_of[folder, source] = None
                    continue
                of_target = groups.setdefault((folder, target), [])
                for group in of_target:
                    if (group["bytes"] + length <= MOST_BYTES and group["declared"].isdisjoint(written) and
                            group["written"].isdisjoint(declared)):
                        break
                else:
                    group = {"name": f"{target}_{len(of_target)}", "declared": set(), "written": set(), "bytes": 0}
                    of_target.append(group)
                group["declared"] |= declared
                group["written"] |= written
                group["bytes"] += length
                group_of[folder, source] = group["name"]
                lines.append(f'set_source_files_properties("{path}" TARGET_DIRECTORY {target} '
                             f'PROPERTIES UNITY_GROUP {group["name"]})\n')
    pathlib.Path(sys.argv[2]).write_text("".join(lines))


main()
