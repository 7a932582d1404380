#!/usr/bin/env python3
"""The modules as their CMakeLists.txt declare them: checks the includes against the declarations, draws the picture.

usage: modules.py includes DECLARED ROOT  every include names a path from src/, components/ or include/; it is of the
                                          module's own files or of a module that it declares
       modules.py check DECLARED ROOT     the same; every declared module is needed, none depends on itself in a circle,
                                          the picture in docs/figures is of these declarations, locks survive a fork,
                                          and what base does is done there alone
       modules.py draw DECLARED ROOT      writes docs/figures/modules.{dot,svg} (needs Graphviz: dot) and
                                          docs/reference/modules.md

A module is named by its directory below src/ or components/. DECLARED is the file generated/modules.txt of a build
directory: a line for each module, with its directory and the modules that it uses.
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
# The boxes of the picture, the first that a module's directory fits; the order is the way of the data. base,
# which every module uses, is not drawn.
BOXES = [
    ("sources", r"src/sources/", "sources", "put transactions on the feed"),
    ("feed", r"src/feed$", "feed", "probe points, trace files"),
    ("models", r"src/models/", "models", "what modelled monitors share"),
    ("monitors", r"components/(memory|mx|myrinet|numachine|owl|shrimp)$", "components: monitors, Owl",
     "substrates that count transactions"),
    ("substrates", r"components/", "components: the system", "substrates of hardware and kernel"),
    ("system", r"src/(perf_events|sysfs|nvidia|late)$", "perf_events, sysfs, nvidia, late", "reading the system"),
    ("metrics", r"src/metrics", "metrics", "formulas over events"),
    ("core", r"src/core/", "core", "event names, eventsets, measuring"),
    ("papi", r"src/papi", "papi", "PAPI's interface"),
    ("recording", r"src/recording", "recording", "file, sampler, report"),
    ("programs", r"src/(tools|papers)", "tools, papers", "the programs"),
]


def declared(path):
    modules = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            folder, *uses = line.split()
            modules[folder.split("/", 1)[1]] = (folder, uses)
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


# An include names a path from one of these, as a reader sees it in the tree.
ROOTS = ("src", "components", "include")
# Written by the build; and shown as it is written outside of the tree.
GENERATED = re.compile(r"^(entry_points\.hpp|.*\.inc)$")
OUTSIDE_THE_TREE = ("components/example/",)


def includes(root, name, modules):
    """Pairs (file, other module) for every include of another module's header; (file, None, header) for an include that
    names no path from a root."""
    on_the_feed = modules[name][0].startswith(("src/sources/", "src/models/", "components/"))
    for file in files_of(root, name, modules):
        with open(os.path.join(root, file), encoding="utf-8") as opened:
            text = opened.read()
        if on_the_feed and FEED.search(text):
            yield file, "feed", "substrata/feed.h"
        for header in INCLUDE.findall(text):
            place = next((f"{one}/{header}" for one in ROOTS if os.path.exists(os.path.join(root, one, header))), None)
            if place is None:
                if not GENERATED.match(header) and not file.startswith(OUTSIDE_THE_TREE):
                    yield file, None, header
                continue
            other = module_of(place, modules)
            if other not in (None, name):
                yield file, other, header


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


def include_problems(root, modules):
    for name, (_, uses) in modules.items():
        for file, used, header in includes(root, name, modules):
            if used is None:
                yield f'{file} includes "{header}", which is no path from src/, components/ or include/'
            elif used not in uses:
                yield f'{file} includes "{header}" of module \'{used}\', which \'{name}\' does not declare'


def declaration_problems(root, modules):
    direct = {name: sorted({used for _, used, _ in includes(root, name, modules) if used}) for name in modules}
    for name, (_, uses) in modules.items():
        needed = reach(direct[name], direct)
        for use in uses:
            if use not in modules:
                yield f"'{name}' declares '{use}': no such module"
            elif use not in needed:
                yield f"'{name}' declares '{use}' and includes nothing of it"
        if name in needed:
            yield f"'{name}' depends on itself: " + ", ".join(sorted(needed))


def box_of(folder):
    return next((key for key, pattern, *_ in BOXES if re.match(pattern, folder)), None)


def dot_of(modules):
    boxes = {name: box_of(folder) for name, (folder, _) in modules.items()}
    arrows = {(boxes[name], boxes.get(use)) for name, (_, uses) in modules.items() for use in uses}
    lines = [
        "// Generated by src/cmake/modules.py from the modules' CMakeLists.txt; not edited by hand.",
        "digraph modules {",
        '  rankdir=BT; ranksep=0.5; nodesep=0.3; fontname="sans-serif";',
        '  node [shape=box, style="rounded,filled", fillcolor="#f3f6f9", color="#5b6b7a", fontname="sans-serif",',
        '        fontsize=13];',
        '  edge [color="#5b6b7a", arrowsize=0.7];',
        *(f'  "{key}" [label=<<b>{title}</b><br/><font point-size="11">{text}</font>>];' for key, _, title, text in BOXES),
        *(f'  "{user}" -> "{used}";' for user, used in sorted(arrows, key=str)
          if user is not None and used is not None and user != used),
    ]
    return "\n".join(lines + ["}", ""])


def table_of(modules):
    lines = ["# Modules and what they use", "",
             "Generated from the modules' declarations (`ninja -C build module_picture`). A module is named by its directory",
             "below `src/` or `components/`, and may include headers of the modules in its row.", "",
             "| module | uses |", "| --- | --- |"]
    lines += [f"| [{folder}](../../{folder}) | {', '.join(sorted(uses))} |" for folder, uses in sorted(modules.values())]
    return "\n".join(lines + [""])


def written(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as opened:
        return opened.read()


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("includes", "check", "draw"):
        sys.exit(__doc__)
    modules, root = declared(sys.argv[2]), sys.argv[3]
    if sys.argv[1] == "includes":
        found = list(include_problems(root, modules))
        print("\n".join(found), end="\n" if found else "")
        sys.exit(1 if found else 0)
    figure, table = (os.path.join(root, "docs", *path) for path in (("figures", "modules"), ("reference", "modules.md")))
    texts = {figure + ".dot": dot_of(modules), table: table_of(modules)}
    if sys.argv[1] == "draw":
        if shutil.which("dot") is None:
            sys.exit("the picture of the modules needs dot: install Graphviz (Debian: graphviz)")
        for path, text in texts.items():
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        subprocess.run(["dot", "-Tsvg", "-o", figure + ".svg", figure + ".dot"], check=True)
        return
    found = [*include_problems(root, modules), *declaration_problems(root, modules), *plain_locks(root, modules),
             *twins_of_base(root, modules)]
    found += [f"{os.path.relpath(path, root)} is of other declarations; draw it anew: ninja -C build module_picture"
              for path, text in texts.items() if written(path) != text]
    if any(title not in written(figure + ".svg") for _, _, title, _ in BOXES):
        found.append("docs/figures/modules.svg lacks a box; draw it anew: ninja -C build module_picture")
    print("\n".join(found) or
          f"{len(modules)} modules: what they include is what they declare, their locks survive a fork, base has no twin")
    sys.exit(1 if found else 0)


main()
