"""What the checks of prose read."""
import subprocess


def files(folder, *places):
    """The files below `folder` that git has or would add, sorted, of `places` alone where some are named; of an unpacked
    archive all that are there, but for folders that CMake builds in."""
    listed = subprocess.run(["git", "-C", folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--",
                             *places], capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        found = {folder / name for name in listed.stdout.split("\0") if name}
    else:
        built = {cache.parent for cache in folder.glob("*/CMakeCache.txt")}
        found = {path for place in places or (".",) for path in (folder / place, *(folder / place).rglob("*"))
                 if built.isdisjoint(path.parents)}
    return sorted(path for path in found if path.is_file() and not path.is_symlink())
