"""What the build of a folder compiles, as commands that a check can run or hand to a tool."""
import json
import os
import pathlib
import re
import shlex
import subprocess


def listed(*patterns):
    """The files of the repository that match, by path from its root (the working folder)."""
    return subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, check=True).stdout.split()


def compilations(build):
    """Yields source (a path from the root), words of the command without launcher, output and dependency files and
    precompiled header, the folder to run it in, and whether other headers may have been read before it: precompiled, or
    by a source that is compiled together with it."""
    text = subprocess.run(["ninja", "-C", build, "-t", "compdb"], capture_output=True, text=True, check=True).stdout
    here = os.getcwd() + "/"
    for entry in json.loads(text):
        source = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        words = shlex.split(entry["command"].split("&&")[0])
        if not source.startswith(here) or "-c" not in words:
            continue
        precompiled = "cmake_pch.hxx" in entry["command"]
        words = [word for word in words
                 if word not in ("ccache", "-Winvalid-pch", "-fpch-preprocess", "-MD", "-c")]
        for option in ("-include", "-o", "-MF", "-MT"):
            while option in words:
                at = words.index(option)
                del words[at:at + 2]
        if "/Unity/unity_" not in source:
            yield source.removeprefix(here), words, entry["directory"], precompiled
            continue
        for one in re.findall(r'^#include "(.+)"$', pathlib.Path(source).read_text(), re.MULTILINE):
            if one.startswith(here):
                alone = [one if word == entry["file"] else word for word in words]
                yield one.removeprefix(here), alone, entry["directory"], True
