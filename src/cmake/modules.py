#!/usr/bin/env python3
"""The modules as their CMakeLists.txt declare them: checks the includes against the declarations, draws the picture.

usage: modules.py check DECLARED ROOT    every include of a module is of its own files or of a module it declares, every
                                         declared module is needed, none depends on itself in a circle, the picture
                                         in docs/figures is of these declarations, locks survive a fork, and what
                                         base does is done there alone
       modules.py draw DECLARED ROOT     writes docs/figures/modules.dot and modules.svg (needs Graphviz: dot, tred)

DECLARED is the file generated/modules.txt of a build folder: a line for each module, with its name, its folder and
what it uses.
"""
import os
import re
import shutil
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
# What publishes or observes uses the feed, through its public header.
FEED = re.compile(r'^\s*#\s*include\s+[<"]substrata/feed\.h(pp)?[>"]', re.M)
# A lock of the C++ library stays locked for ever in a forked child if another thread of the parent held it, so base's
# ForkLock is used. The folders that may do without, and why.
LOCK = re.compile(r"\bstd::(recursive_|timed_|shared_)*mutex\b|\bpthread_mutex_t\b")
FEED_STAYS = "a forked child leaves the feed, and what counts on it, to its parent (docs/reference/feeds.md)"
OTHER_LOCKS = {
    "src/base/": "makes the lock",
    "src/feed/": FEED_STAYS,
    "src/models/": FEED_STAYS,
    "src/papers/": FEED_STAYS,
    "src/sources/": FEED_STAYS,
    "components/bridge/companion.cpp": "a forked child leaves it alone and makes one of its own",
    "components/memory/": FEED_STAYS,
    "components/myrinet/": FEED_STAYS,
    "components/numachine/": FEED_STAYS,
    "components/owl/": FEED_STAYS,
    "components/shrimp/": FEED_STAYS,
    "src/tools/": "a program, which does not fork while its threads run",
    "src/recording/": "a program, which does not fork while its threads run",
    "components/example/": "shows what a plug-in outside the tree does, which has no ForkLock",
}
# What base does for all, by the function of the C or C++ library that would do it again; and the files that have a
# reason to call it.
IN_BASE = {
    re.compile(r"\b(strto(l|ll|ul|ull|d|f|ld|imax|umax)|ato(i|l|ll|f)|sto(i|l|ll|ul|ull|d|f)|from_chars)\s*\("):
        "numbers are read by base/parse.hpp, alike in all locales",
    re.compile(r"\b(secure_)?getenv\s*\("): "settings are read by base/environment.hpp, not with raised rights",
    re.compile(r"\b(fnmatch|wordexp|regcomp)\s*\("): "patterns are matched by base/glob.hpp",
    re.compile(r"\bpopen\s*\("): "a program's answer is read by base/command_output.hpp",
    re.compile(r"\bmk(dtemp|stemp|ostemp)\s*\("): "temporary files are made by base/temporary_folder.hpp, shared_file.hpp",
}
OUTSIDE_BASE = {
    "src/base/": "is base",
    "components/example/": "shows what a plug-in outside the tree does, which has no base",
    "src/tools/terminal/": "asks for the terminal's TERM, in a program",
}
SOURCES = (".c", ".cpp", ".h", ".hpp")
# The order of the groups in the picture is the way of the data.
GROUPS = [
    ("sources", "src/sources/", "sources: put transactions on the feed"),
    ("feed", "src/feed", None),
    ("models", "src/models/", "models: count transactions"),
    ("components", "components/", "components: the substrates"),
    ("core", "src/core/", "core: measures"),
    ("papi", "src/papi", "papi: the face"),
    ("recording", "src/recording", "recording"),
    ("tools", "src/tools/", "tools"),
]


def declared(path):
    modules = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            name, folder, *uses = line.split()
            modules[name] = (folder, uses)
    return modules


def files_of(root, name, modules):
    """The module's own files: those below its folder that are in no module further down."""
    folder = modules[name][0]
    inner = [other for key, (other, _) in modules.items() if key != name and other.startswith(folder + "/")]
    for here, folders, files in os.walk(os.path.join(root, folder)):
        relative = os.path.relpath(here, root)
        folders[:] = sorted(f for f in folders if os.path.join(relative, f) not in inner)
        for file in sorted(files):
            if file.endswith(SOURCES):
                yield os.path.join(relative, file)


def module_of(file, modules):
    """The module whose folder holds the file most closely; None if there is none."""
    holding = [name for name, (folder, _) in modules.items() if file.startswith(folder + "/")]
    return max(holding, key=lambda name: len(modules[name][0]), default=None)


def includes(root, name, modules):
    """Pairs (file, other module) for every include of another module's header."""
    folder = modules[name][0]
    on_the_feed = folder.startswith(("src/sources/", "src/models/", "components/"))
    for file in files_of(root, name, modules):
        with open(os.path.join(root, file), encoding="utf-8") as opened:
            text = opened.read()
        if on_the_feed and FEED.search(text):
            yield file, "feed"
        for header in INCLUDE.findall(text):
            first, _, rest = header.partition("/")
            places = [os.path.join(os.path.dirname(file), header), os.path.join(folder, header)]
            if first in modules:
                places.append(os.path.join(modules[first][0], rest))
            for place in places:
                if os.path.exists(os.path.join(root, place)):
                    other = module_of(os.path.normpath(place), modules)
                    if other not in (None, name):
                        yield file, other
                    break


def plain_locks(root, modules):
    for name in modules:
        for file in files_of(root, name, modules):
            with open(os.path.join(root, file), encoding="utf-8") as opened:
                if LOCK.search(opened.read()) and not file.startswith(tuple(OTHER_LOCKS)):
                    yield f"{file} has a lock that a forked child may find locked for ever; use base/fork_lock.hpp"


def twins_of_base(root, modules):
    for name in modules:
        for file in files_of(root, name, modules):
            if file.startswith(tuple(OUTSIDE_BASE)):
                continue
            with open(os.path.join(root, file), encoding="utf-8") as opened:
                text = opened.read()
            for call, reason in IN_BASE.items():
                if match := call.search(text):
                    yield f"{file}:{text.count(chr(10), 0, match.start()) + 1}: {match.group(0)}...): {reason}"


def reach(start, edges):
    seen, todo = set(), list(start)
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += edges[one]
    return seen


def problems_of(root, modules):
    direct = {name: sorted(set(used for _, used in includes(root, name, modules))) for name in modules}
    for name, (_, uses) in modules.items():
        for file, used in includes(root, name, modules):
            if used not in uses:
                yield f"{file} includes a header of '{used}', which '{name}' does not declare"
        needed = reach(direct[name], direct)
        for use in uses:
            if use not in modules:
                yield f"'{name}' declares '{use}', and there is no such module"
            elif use not in needed:
                yield f"'{name}' declares '{use}' and includes nothing of it"
        if name in needed:
            yield f"'{name}' depends on itself: " + ", ".join(sorted(needed))


def dot_of(modules):
    lines = [
        "// Generated by src/cmake/modules.py from the modules' CMakeLists.txt; not edited by hand.",
        "digraph modules {",
        '  rankdir=RL; ranksep=0.7; nodesep=0.1; fontname="sans-serif"; fontsize=12; compound=true;',
        '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="sans-serif", fontsize=11, height=0.3];',
        '  edge [color="#5b6b7a", arrowsize=0.6];',
    ]
    left = dict(modules)
    for group, prefix, label in GROUPS:
        inside = sorted(n for n, (folder, _) in left.items()
                        if folder.startswith(prefix) or folder == prefix.rstrip("/"))
        for name in inside:
            del left[name]
        if label is None:
            lines += [f'  "{name}" [fillcolor="#dbe9f6"];' for name in inside]
            continue
        lines.append(f'  subgraph "cluster_{group}" {{ label="{label}"; style="rounded,filled"; color="#c8d2dc"; '
                     'fillcolor="#f3f6f9"; margin=10;')
        lines += [f'    "{name}";' for name in inside]
        lines.append("  }")
    lines += [f'  "{name}" [fillcolor="#e9efe2"];' for name in sorted(left)]
    for name in sorted(modules):
        lines += [f'  "{name}" -> "{use}";' for use in sorted(modules[name][1])]
    return "\n".join(lines + ["}", ""])


def figures(root):
    return (os.path.join(root, "docs", "figures", name) for name in ("modules.dot", "modules.svg"))


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("check", "draw"):
        sys.exit(__doc__)
    modules, root = declared(sys.argv[2]), sys.argv[3]
    dot, svg = figures(root)
    text = dot_of(modules)
    if sys.argv[1] == "draw":
        if missing := [program for program in ("dot", "tred") if shutil.which(program) is None]:
            sys.exit(f"the picture of the modules needs {' and '.join(missing)}: install Graphviz (Debian: graphviz)")
        with open(dot, "w", encoding="utf-8") as out:
            out.write(text)
        reduced = subprocess.run(["tred"], input=text, capture_output=True, check=True, text=True).stdout
        picture = subprocess.run(["dot", "-Tsvg"], input=reduced, capture_output=True, check=True, text=True).stdout
        with open(svg, "w", encoding="utf-8") as out:
            out.write(picture)
        return
    found = [*problems_of(root, modules), *plain_locks(root, modules), *twins_of_base(root, modules)]
    current = open(dot, encoding="utf-8").read() if os.path.exists(dot) else ""
    if current != text:
        found.append("docs/figures/modules.dot is of other declarations; draw it anew: ninja -C build module_picture")
    elif not os.path.exists(svg) or any(f">{name}<" not in open(svg, encoding="utf-8").read() for name in modules):
        found.append("docs/figures/modules.svg lacks modules; draw it anew: ninja -C build module_picture")
    print("\n".join(found) or
          f"{len(modules)} modules: what they include is what they declare, their locks survive a fork, base has no twin")
    sys.exit(1 if found else 0)


main()
