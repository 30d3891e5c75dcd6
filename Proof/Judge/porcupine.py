"""Lets porcupine judge the histories that our judges judge, and compares the answers. Exits with 1 if a judge disagrees.

porcupine (github.com/anishathalye/porcupine) is the work of others. This program clones it into .build/porcupine, from
the network or from the URL in LOCALDATA_PORCUPINE, and builds main.go with it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
URL = "https://github.com/anishathalye/porcupine"
REVISION = "55508eb201b314c218d7e8412c3ea4b9499a5f53"


def build():
    """Builds main.go with porcupine. Returns the program."""
    subprocess.run(["Scripts/setup", "--judge"], cwd=TOP, check=True)
    source, program, url = TOP / ".build/porcupine", TOP / ".build/judge", os.environ.get("LOCALDATA_PORCUPINE", URL)
    source.mkdir(parents=True, exist_ok=True)
    script = f"[ -e .git ] || git init --quiet; git checkout --quiet --detach {REVISION} 2>/dev/null || " \
        f"{{ git fetch --quiet --depth 1 '{url}' {REVISION} && git checkout --quiet --detach {REVISION}; }}"
    if subprocess.run(["sh", "-c", script], cwd=source).returncode != 0:
        sys.exit(f"Missing: porcupine. It cannot be cloned from {url}. LOCALDATA_PORCUPINE can name another URL.")
    environment = {**os.environ, "GOPROXY": "off"}
    subprocess.run(["go", "build", "-buildvcs=false", "-o", program, "."], cwd=TOP / "Proof/Judge", check=True, env=environment)
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=600, help="how many seeds of each simulation")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--servers", type=int, default=8, help="how many servers are killed under load")
    parser.add_argument("--seconds", type=int, default=6, help="how many seconds the real processes run; 0 for none")
    parser.add_argument("--planted", choices=["orders", "server"], help="plants a mistake in one of our judges")
    options = parser.parse_args()
    program, prove = build(), TOP / ".build/debug/Prove"
    words = ["--seeds", options.seeds, "--first", options.first, "--seconds", options.seconds]
    commands = [[prove, "histories", *words] + (["--planted", "--copies", "7"] if options.planted == "orders" else [])]
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number in range(options.servers):
            # Every second round has a planted mistake.
            planted = ["lost", "twice", "stale", "returned"][number // 2 % 4] if number % 2 == 1 else None
            files.append(f"{folder}/{number}.jsonl")
            words = [prove, "server", "--kills", "3", "--seed", str(options.first + number), "--history", files[-1]]
            status = subprocess.run(words + (["--planted", planted] if planted else []), cwd=TOP, stdout=subprocess.PIPE).returncode
            if status not in (0, 1 if planted else 0):
                sys.exit(f"Prove server ended with {status}")
        if files:
            server = [sys.executable, "-B", TOP / "Proof/Judge/server.py", *files]
            commands.append(server + (["--planted"] if options.planted == "server" else []))
        words = [program, *(" ".join(map(str, command)) for command in commands)]
        result = subprocess.run(words, cwd=TOP, stdout=subprocess.PIPE, text=True)
    *wrong, last = result.stdout.splitlines() or [""]
    for line in wrong:
        print(line[:20_000])
    if result.returncode not in (0, 1):
        sys.exit(f"main.go ended with {result.returncode}: {last}")
    print(f"tried: porcupine {REVISION[:7]}, {last}")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
