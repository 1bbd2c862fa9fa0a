"""Which programs a Debian has that is bare but for the packages scripts/install_packages.sh names, as this machine's dpkg knows them.

    packages = named_packages("--sanitizers")            # what the script names
    have = programs(closure(packages))                   # {"/usr/bin/cmake", ...}: of those, of what they depend on, of every Debian
    python3 scripts/lib/debian_programs.py --sanitizers  # prints what of this machine such a Debian lacks, a path per line; a link
                                                         # that leads elsewhere there is followed by a tab and where it leads

Every Debian has the packages that are essential or required, and apt: so do the smallest that debootstrap and mmdebstrap make, and
container images. With --sanitizers and its like the packages of that flag must be installed.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

INSTALL = Path(__file__).resolve().parents[1] / "install_packages.sh"
FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin")  # /bin and /sbin are links to the first two.


class Package:
    def __init__(self):
        self.depends = []      # Groups: one package of each must be there, by default the first.
        self.everywhere = False


def named_packages(*flags):
    return subprocess.run(["bash", str(INSTALL), "--list", *flags], check=True, capture_output=True, text=True).stdout.split()


def _names(field):
    """debconf (>= 0.5) | debconf-2.0, perl:any -> [["debconf", "debconf-2.0"], ["perl"]]"""
    groups = [[re.match(r"\s*([^\s:(]*)", name).group(1) for name in group.split("|")] for group in field.split(",")]
    return [group for group in groups if group[0]]


def installed():
    """(packages by name, names of packages by what they provide)"""
    fields = ("Package", "db:Status-Status", "Essential", "Priority", "Pre-Depends", "Depends", "Provides")
    command = ["dpkg-query", "-W", "-f", "\t".join(f"${{{field}}}" for field in fields) + "\n"]
    packages, providers = {}, {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        name, status, essential, priority, before, depends, provides = line.split("\t")
        if status == "installed":
            package = packages.setdefault(name, Package())
            package.depends += _names(before) + _names(depends)
            package.everywhere |= essential == "yes" or priority == "required" or name == "apt"
            for group in _names(provides):
                providers.setdefault(group[0], []).append(name)
    return packages, providers


def closure(names):
    """Those packages, those of every Debian, and all they depend on. KeyError: one that is named is not installed."""
    packages, providers = installed()
    waiting = [*names, *(name for name, package in packages.items() if package.everywhere)]
    for name in names:
        packages[name]  # Must be there.
    found = set()
    while waiting:
        name = waiting.pop()
        if name in found or name not in packages:
            continue
        found.add(name)
        for group in packages[name].depends:  # Only its first counts: another is there because of this machine's other packages.
            first = [group[0]] if group[0] in packages else providers.get(group[0], [])
            waiting += [one for one in first if packages[one].everywhere] or first
    return found


def programs(packages):
    """Their paths in FOLDERS."""
    listed = subprocess.run(["dpkg-query", "-L", *sorted(packages)], check=True, capture_output=True, text=True).stdout.splitlines()
    return {re.sub(r"^/(s?bin/)", r"/usr/\1", path) for path in listed if re.match(r"(/usr)?/s?bin/[^/]+$", path)}


def links_of_alternatives(have):
    """{path: program} of what no package owns, but update-alternatives makes, where one of the programs to choose from is there."""
    links = {}
    for path in Path("/var/lib/dpkg/alternatives").glob("*"):
        link = path.read_text().splitlines()[1]
        chosen = os.path.realpath(link)
        choices = [choice for choice in path.read_text().splitlines() if choice in have]
        if link.startswith(FOLDERS) and choices:
            links[link] = chosen if chosen in have else choices[0]
    return links


def lacking(have, kept):
    """Paths of FOLDERS that are not in `have`; files called as one of `kept` stay."""
    links = links_of_alternatives(have)
    paths = [f"{folder}/{name}" for folder in FOLDERS if os.path.isdir(folder) for name in sorted(os.listdir(folder))]
    return [path for path in paths if path not in have and path not in links and os.path.basename(path) not in kept]


def main(*flags):
    # A launcher of compilers (ccache) is the user's choice: without it the build is the same, but slower.
    kept = {os.path.basename(os.environ.get(f"CMAKE_{language}_COMPILER_LAUNCHER", "")) for language in ("C", "CXX")}
    have = programs(closure(named_packages(*flags)))
    print(*lacking(have, kept), sep="\n")
    for link, program in links_of_alternatives(have).items():
        if os.path.realpath(link) != os.path.realpath(program):
            print(f"{link}\t{program}")


if __name__ == "__main__":
    main(*sys.argv[1:])
