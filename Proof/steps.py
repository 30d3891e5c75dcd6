"""The expensive steps: those of Scripts/prove, and those of Scripts/check that --quick leaves out. This is their only list.

usage: Proof/steps.py             prints the names of all steps
       Proof/steps.py --check     prints the names of the steps of Scripts/check --full
"""

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent


@dataclass
class Slice:
    """A part of a step that takes at most 8 minutes after its build, with a record in Proof/Checked.json."""

    name: str
    command: str
    #: Whether the command must find a planted mistake. Then exit status 0 is the failure.
    is_planted: bool = False
    #: The texts that stand for `{part}` in the command, which runs once for each.
    parts: list = field(default_factory=lambda: [""])


@dataclass
class Step:
    """A search or an expensive check."""

    name: str
    slices: list
    #: The folders and files that the result depends on. Their changed lines are the age of a record.
    inputs: list
    #: What must be built before: "tests" is the debug build of the tests and of Prove, "Prove" a part of it, "release" another one of Prove.
    #: The commands of "own" build what they need.
    needs: str = "own"
    #: Whether the step runs only if it is named.
    is_named: bool = False
    is_search: bool = True
    #: Whether the commands build with LOCALDATA_PROOF.
    is_proof: bool = True

    @property
    def is_built(self):
        """Whether .ci/run has built what the step needs."""
        return self.needs in ("", "tests", "Prove")


#: The operations of Proof/FaultWorker. Each group is a slice of `faults`, `cuts` and `flushes`.
OPERATIONS = {
    "list": [f"list: {verb}" for verb in ("first set", "set", "update", "remove", "batch", "first batch", "close")]
    + ["list: first sealed value", "list: sealed value", "expiry"],
    "database": [f"database: {verb}" for verb in ("first set", "set", "update", "remove", "batch", "first batch", "close")] + ["witness"],
    "moves": ["lazy get: list to database", "lazy get: database to database", "lazy get: list to sealed list", "set over a pending value"],
    "conflicts and windows": ["quarantine", "purge quarantined values", "release window opens", "release window ends"],
    "sweep": ["sweep of 12 keys"],
    "records": ["collection: set", "collection: update", "collection: remove", "references", "references over two stores"],
    "schemas": ["collection: migrateAll", "collection: chain", "plan"],
    "keys": ["rotation of a data key", "rotation of a key", "older keys are destroyed"],
    "forget": ["adoption", "forget a domain", "forget everything"],
    "backups": ["backup", "restore", "restore into nothing"],
    "keyring": ["keyring: set", "keyring: remove", "lazy get: list to keyring", "lazy get: keyring to database",
                "database under a key in the keyring: first set"],
}


def fuzz_targets():
    """Returns the names of the targets in Proof/Fuzz."""
    texts = [path.read_text() for path in sorted((TOP / "Proof/Fuzz").glob("*.swift"))]
    return [name for text in texts for name in re.findall(r'FuzzTarget\(name: "([^"]+)"', text)]


def first_seed():
    """Returns the first seed of the campaigns, which is new for each revision."""
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, check=True, stdout=subprocess.PIPE, text=True).stdout
    return int(revision[:12], 16)


def searches(length):
    """Returns the slices of each search, for "quick", "default" or "long"."""
    quick, default, long = (length == name for name in ("quick", "default", "long"))
    release = ".build/release/Prove"
    prove = release if long else ".build/debug/Prove"
    today = datetime.now(timezone.utc).strftime("%Y%m%d")
    seed = first_seed()

    def pick(*choices):
        return choices[("quick", "default", "long").index(length)]

    def campaign(name, slices, seeds, covers=" --covers"):
        if quick:
            return [Slice(name, f"{prove} {name} --seeds 4000 --first {seed}")]
        if long:
            return [Slice(name, f"{prove} {name} --seeds 100000 --first {{part}}{covers}", parts=[f"{today}{part:02}000000" for part in range(20)])]
        return [
            Slice(f"{name}: {index + 1} of {slices}" if slices > 1 else name,
                  f"{prove} {name} --seeds {seeds} --first {seed + index * seeds}")
            for index in range(slices)
        ]

    def operations(name, command, *, skips_keyring):
        """Returns a slice for each group of operations, of which the command runs one at a time."""
        groups = {group: names for group, names in OPERATIONS.items() if not (skips_keyring and group == "keyring")}
        command += " --operation {part} --exactly --width 8"
        if long:
            return [Slice(name, command, parts=[shlex.quote(one) for names in groups.values() for one in names])]
        return [Slice(f"{name}: {group}", command, parts=[shlex.quote(one) for one in names]) for group, names in groups.items()]

    def tests(name, filters, skips=None):
        return Slice(name, f"swift test --skip-build --filter '{filters}'" + (f" --skip '{skips}'" if skips else ""))

    def patroni(name, setting, rounds, load=f"{release} failover-load", kinds=None, loses=False):
        # The results have the revision in their name, so that a run continues only with the same program.
        results = f".build/prove/failover/$(git rev-parse --short HEAD)-{re.sub(r'[^a-z0-9]+', '-', name.lower())}-{length}.jsonl"
        options = [f"--rounds {min(5, rounds) if quick else rounds} --setting {setting} --results {results}"]
        options += ([f"--kinds {kinds}"] if kinds else []) + ([f"--load '{load}'"] if load else [])
        return Slice(name, f"python3 -B Proof/Failover/rounds.py {' '.join(options)}", loses)

    days = "--days 12 --records 200 --sets 40 --kills-every 4"
    # A soak of five minutes.
    short = "--minutes 5 --total 5 --interval 10"
    comparison = "swift test --skip-build --filter '^StorageSearches[.]ComparisonTests'"
    # Each revision tries other calls: every 17th to every 23rd.
    calls, flushes, disks = 17 + seed % 7, 10 + seed % 5, 3 + seed % 3
    return {
        "campaigns": campaign("campaigns", 4, 25_000) + campaign("records", 2, 20_000) + campaign("windows", 2, 20_000)
        + campaign("journeys", 2, 20_000, covers="")
        + [Slice("journeys, planted mistakes", f"{prove} journeys --seeds 1000 --mutant {{part}}", True, ["lyingStore", "noTombstone"])],
        "mutants": [Slice("mutants", pick(
            f"{prove} mutants --recorded", "Scripts/mutate mutants --recorded", "Scripts/mutate mutants --every-kind --seeds 1000000"))],
        "power": [Slice("power", f"Scripts/mutate power --record Proof/Mutants/Power.json --firsts {pick(3, 20, 100)}")],
        "faults": (
            [Slice(f"faults: {name}", f"{prove} faults --operation '{name}' --exactly --width 8") for name in ("list: set", "database: set")]
            if quick
            else operations("faults", f"{prove} faults" + (f" --every {calls}" if default else ""), skips_keyring=False)
        ),
        "cuts": (
            [Slice("cuts: list: set", f"{prove} cuts --operation 'list: set' --exactly")]
            if quick
            else operations("cuts", f"{prove} cuts", skips_keyring=True)
            + [Slice("cuts of a real ext4", f"{prove} cuts --ext4")]
            + operations("cuts as in ALICE", f"{prove} cuts --model alice" + (f" --every {disks}" if default else ""), skips_keyring=True)
        )
        + [
            Slice("cuts, planted mistakes", f"{prove} cuts {{part}}", True, [
                "--operation 'list: first set' --planted directories", "--operation 'database: set' --planted logs",
                "--operation 'list: set' --exactly --model dividedNames",
            ])
        ],
        "flushes": (
            [Slice("flushes: list: set", f"{prove} flushes --operation 'list: set' --exactly --disks 8")]
            if quick
            else operations("flushes", f"{prove} flushes" + (f" --every {flushes} --disks 24" if default else ""), skips_keyring=True)
        )
        + [
            Slice("flushes, planted mistake", f"{prove} flushes --operation 'list: set' --exactly --disks 8 --planted retries", True),
        ],
        "processes": [
            Slice("processes", f"{prove} processes " + pick(
                f"--seconds 6 --rounds 1 --seed {seed}", f"--seconds 60 --rounds 4 --seed {seed}", "--seconds 60 --rounds 1 --seed {part}"),
                parts=[f"{today}{part:02}" for part in range(30)] if long else [""]),
            Slice("processes, planted mistakes", f"{prove} processes --seconds 6 --rounds 1 --planted {{part}}", True,
                  ["forgetful", "twice"]),
        ],
        "server": [
            tests("failover", "^ServerSearches[.](FailoverTests|HistoryTests|KeyTableTests)"),
            Slice("server", f"{prove} server " + pick(f"--kills 3 --seed {seed}", f"--kills 200 --seed {seed}", "--kills 200 --seed {part}"),
                  parts=[f"{today}{part:02}" for part in range(5)] if long else [""]),
            Slice("server, moves", f"{prove} server-moves " + pick(
                f"--keys 600 --kills 4 --seed {seed}", f"--seed {seed}", "--seed {part}"),
                parts=[f"{today}{part:02}" for part in range(5)] if long else [""]),
            Slice("server, planted mistakes", f"{prove} server --kills 1 --planted {{part}}", True, ["lost", "twice", "stale", "returned"]),
        ]
        + ([] if quick else [
            tests("server, cuts", "^ServerSearches[.]CutTests"),
            tests("server, cuts in a failover", "^ServerSearches[.]FailoverCutTests"),
            tests("server, other tests", "^ServerSearches[.]", "[.](FailoverTests|HistoryTests|KeyTableTests|CutTests|FailoverCutTests)"),
        ]),
        "attacks": [
            tests("attacks: simulation", "^SimulationSearches[.]"),
            tests("attacks: stores", "^StorageSearches[.]", "[.](CacheSearchTests|ComparisonTests)"),
            tests("attacks: caches", "^StorageSearches[.]CacheSearchTests"),
            tests("attacks: databases", "^DatabaseSearches[.]"),
            tests("attacks: inputs of the fuzz targets", "^FuzzSearches[.]"),
        ],
        "comparison": [
            Slice("comparison", f"COMPARISON_FIRST={seed} COMPARISON_SEEDS={pick(4, 120, 4000)} {comparison}"),
            Slice("comparison, planted mistake", f"COMPARISON_PLANTED=1 COMPARISON_SEEDS=4 {comparison}", True),
        ],
        "age": [
            Slice("age", f"{prove} age --seed {seed} --calls get move sweep " + pick(
                days, "", "--days 1000 --records 100000 --sets 1000")),
            # Apart, because its finding is a known limit.
            Slice("age, doctor", f"{prove} age --seed {seed} --calls doctor " + pick(days, "", "")),
            Slice("age, planted mistake", f"{prove} age {days} --calls get --planted", True),
        ],
        "limits": [Slice("limits", f"{prove} limits")],
        "laws": [Slice("laws", f"LOCALDATA_LAWS={pick(1, 3, 100)} swift test --skip-build --filter 'LawTests|ConformanceTests'")],
        "judges": [
            tests("judges: 883 vectors of Wycheproof, 514 messages of RFC 9180", "^SealingTests[.](Wycheproof|HPKEVector)Tests")
        ],
        "model": [Slice("model", "Scripts/check-model")],
        "fuzz": [Slice(f"fuzz: {target}", f"Scripts/fuzz --seconds {pick(5, 60, 1200)} {target}") for target in fuzz_targets()],
        "patroni": [
            patroni("patroni", "strict", pick(5, 30, 300)),
            patroni("patroni, with a restart before it", "patient", 5, kinds="relapse"),
            patroni("patroni, synchronous_commit=local", "local", 5),
            patroni("patroni, asynchronous replication", "async", 5, loses=True),
        ]
        + [
            patroni(f"patroni, without LocalData, synchronous_commit={setting}", setting, 5, load=None, loses=True)
            for setting in ("local", "off")
        ],
        "coverage": [Slice("coverage", "Proof/coverage.py")],
        "mutation": [Slice("mutation", "Proof/mutation.py --resume " + pick("--count 12", "--count 60", "--count 300"))],
        "scale": [
            Slice(
                "scale, sets",
                f"Proof/Scale/sets.py --program {release} "
                + ("--processes 1 2 --seconds 3" if quick else "--markdown Proof/Scale/Sets.md --picture Proof/Scale/sets.svg")),
            Slice("scale, sweep", f"{release} server-sweep " + pick("--keys 2000", "", "")),
            Slice("scale, sweep, writes acknowledged but not made", f"{release} server-sweep --keys 2000 --planted", True),
        ],
        "soak": [
            Slice(
                "soak",
                f"Proof/Scale/soak.py --program {release} "
                + (f"--fresh --folder .build/soak-quick {short}" if quick else "--picture Proof/Scale/soak.svg")),
            Slice(
                "soak, descriptors and memory that leak",
                f"Proof/Scale/soak.py --program {release} --planted --fresh --folder .build/soak-planted {short}", True),
        ],
        "porcupine": [
            Slice("porcupine", f"python3 -B Proof/Judge/porcupine.py --seeds {pick(60, 600, 4000)} --first {seed}"),
            Slice("porcupine, mistakes in our judges", "python3 -B Proof/Judge/porcupine.py --planted {part}", True, [
                "orders --seeds 300 --seconds 0 --servers 0", "server --seeds 0 --seconds 0 --servers 2",
            ]),
        ],
        "providers": [Slice("providers", "Scripts/providers")],
        "lazyfs": [
            Slice("cuts of LazyFS", "Scripts/lazyfs " + pick("--operation ': set'", "--cuts 24", "--cuts 200")),
            Slice("cuts of LazyFS, flushes not made", "Scripts/lazyfs --operation 'list: set' --planted", True),
        ],
    }


#: The searches of `Scripts/prove --quick`.
QUICK = ["campaigns", "mutants", "faults", "cuts", "flushes", "processes", "server", "comparison"]

LIBRARY = ["Sources/LocalData", "Sources/Backends"]
#: The rooms that decide about values, move them, and keep what they replace.
MIGRATION = [f"Sources/LocalData/{room}" for room in ("Deciding", "Displaced", "Ledger", "Moving", "Windows")]
FILES = [*LIBRARY, "Sources/LocalDataBackup", "Sources/LocalDataPlans", "Proof/RealFaults", "Proof/FaultWorker"]
ROUTER = [
    "Sources/LocalData", "Sources/Backends/Contract", "Sources/Backends/Runtime", "Sources/LocalDataBackup", "Sources/LocalDataQueries",
    "Proof/Simulation",
]
SERVER = [
    "Sources/LocalData", "Sources/LocalDataPostgreSQL", "Sources/Backends/Contract", "Sources/Backends/PostgreSQL",
    "Sources/Backends/Runtime", "Sources/Backends/Sealing", "Sources/Backends/CSealing",
]
SERVICE = [
    "Sources/LocalDataService", "Sources/LocalDataConfiguration", "Sources/LocalDataHummingbird", "Sources/LocalDataObservability",
]


def search(name, inputs, needs="own", *, is_named=False):
    return Step(name, searches("default")[name], inputs, needs, is_named)


def check(name, inputs, *commands, is_named=False, is_proof=False):
    """Returns a step of Scripts/check. A command is a pair of a part's name and its words; without one, Scripts/check has a function."""
    slices = [Slice(f"{name}: {part}" if part else name, command) for part, command in commands or [("", f"Scripts/check --part {name}")]]
    return Step(name, slices, inputs, is_named=is_named, is_search=False, is_proof=is_proof)


STEPS = [
    search("campaigns", ROUTER, "Prove"),
    search("mutants", [*ROUTER, "Proof/Mutants"]),
    search("power", [*ROUTER, "Proof/Mutants"], is_named=True),
    search("faults", FILES, "Prove"),
    search("cuts", FILES, "Prove"),
    search("flushes", FILES, "Prove"),
    search("processes", FILES, "Prove"),
    search("server", [*SERVER, "Proof/Server", "Proof/Searches/Server"], "tests"),
    search("attacks", [*LIBRARY, "Sources/LocalDataCaches", "Sources/LocalDataImporters", "Proof/Simulation", "Proof/Searches", "Proof/Fuzz"],
           "tests"),
    search("comparison", ["Sources", "Proof/Searches/Storage"], "tests"),
    search("limits", FILES, "Prove"),
    search("age", [*FILES, "Sources/LocalDataCommands"], "Prove"),
    search("laws", ["Sources", "Tests"], "tests"),
    search("judges", ["Sources/Backends/Sealing", "Sources/Backends/CSealing", "Tests/SealingTests"], "tests"),
    search("model", [*MIGRATION, "Proof/Models"], ""),
    search("fuzz", [*LIBRARY, "Sources/LocalDataImporters", "Proof/Fuzz"]),
    search("patroni", [*SERVER, "Proof/Failover", "Proof/Server"], "release", is_named=True),
    search("coverage", [*LIBRARY, "Tests"], is_named=True),
    search("mutation", [*LIBRARY, "Tests"], is_named=True),
    search("scale", [*SERVER, "Proof/Scale"], "release", is_named=True),
    search("soak", [*LIBRARY, "Sources/LocalDataPostgreSQL", "Proof/Scale"], "release", is_named=True),
    search("porcupine", ["Tests/Support/Laws", "Proof/Simulation", "Proof/RealFaults/Processes", "Proof/Server", "Proof/Judge"], "Prove",
           is_named=True),
    search("providers", ["Sources/Backends/Keyring", "Proof/Searches/Keyring"], is_named=True),
    search("lazyfs", [*FILES, "Proof/lazyfs.py"], is_named=True),
    # The folder of its build is that of the tests, so it builds with the searches too.
    check("old-build", [*LIBRARY, "Tests/OldBuild", "Tests/LocalDataTests/Processes"], ("", "Scripts/check-old-build"), is_proof=True),
    check("traits-none", ["Sources", "Tests", "Package.swift"]),
    check("traits-sqlite", ["Sources", "Tests", "Package.swift"]),
    check("traits-keyring", ["Sources", "Tests", "Package.swift"]),
    check("traits-services", [*SERVICE, *SERVER, "Tests/HummingbirdTests", "Tests/IntegrationTests", "Package.swift"]),
    check("traits-macros", ["Sources/LocalDataMacros", "Sources/LocalDataModels", "Tests/LocalDataModelsTests", "Package.swift"]),
    check("counts", [*LIBRARY, "Sources/LocalDataCaches", "Sources/LocalDataObservability", "Sources/LocalDataObservation",
                     "Sources/LocalDataQueries", "Benchmarks/Counts"], ("", "Scripts/bench counts")),
    check("documentation", ["Sources", *(f"{path.relative_to(TOP)}" for path in sorted(TOP.glob("Sources/*/Documentation.docc")))],
          ("", "Scripts/documentation --check")),
    check("threads", [*LIBRARY, "Tests/ContractTests", "Tests/ConformanceTests", "Tests/DefaultsBackendTests", "Tests/LocalDataTests"],
          ("backends", "Scripts/check --part threads/backends"), ("LocalData", "Scripts/check --part threads/LocalData")),
    check("tutorials", ["Sources/LocalData", "Sources/LocalData/Documentation.docc/Tutorials", *SERVICE],
          *((name, f"Scripts/walk-tutorials {name}") for name in ("MovingSecrets", "Sessions"))),
    check("newcomers", ["Sources/LocalData", "Sources/LocalDataCommands", *SERVICE],
          *((name, f"Scripts/check-pages {name}") for name in ("GettingStartedDesktop", "GettingStartedService"))),
    check("migrations", ["Plugins", "Sources/LocalDataAuthoring", "Sources/LocalDataPlans", "Sources/LocalDataVocabulary",
                         "Examples/Migrations"], ("", "Scripts/demo migrations")),
    check("examples", [*LIBRARY, "Sources/LocalDataTesting", "Examples/FolderStore", "Examples/MigrationGuide", "Examples/TokenClient"],
          *((name, f"Scripts/check --part examples/{name}") for name in ("FolderStore", "MigrationGuide", "TokenClient"))),
    check("sessions", [*SERVICE, *LIBRARY, "Examples/Sessions"], ("", "Scripts/demo sessions --store localdata --kills 5")),
    check("window", [*LIBRARY, "Sources/LocalDataObservation", "Examples/NotesWindow"]),
    check("etcd", ["Sources/Backends/Contract", "Sources/Backends/Conformance", "Examples/EtcdStore"], is_named=True),
    check("api", ["Sources"], is_named=True),
]


if __name__ == "__main__":
    of_check = {"model", "fuzz"}
    print("\n".join(step.name for step in STEPS if sys.argv[1:] != ["--check"] or not step.is_search or step.name in of_check))
