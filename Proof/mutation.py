#!/usr/bin/env python3
"""Measures the mutation score: the share of small random mistakes in the library that its tests notice.

A mutant is the library with one changed expression or statement: a comparison, a condition, a number, a returned Bool, a default after
`??`, or a call that is left out. The program draws mutants at random, and writes all of them into a copy of the package. One build then
has every mutant, and an environment variable switches one of them on. A mutant that does not compile is left out of the build.

For each mutant, the program runs the tests of its area, and then all fast tests. It stops at the first test that fails: the mutant is
killed. A run that takes five times as long as without a mutant also kills it. A mutant that no test notices survives. It can be a gap of
the tests, or a change without an effect. The program prints the survivors. It fails if less than 80 % of the mutants of an area are killed.

  Proof/mutation.py --count 60 --seed 7                  60 mutants: a build, then about half an hour on two cores
  Proof/mutation.py --resume                             continues an interrupted run of unchanged sources, or begins a new one
  Proof/mutation.py --list --area Sealing                prints mutants without building them
  Proof/mutation.py --only 17                            runs a mutant of the last run again, and prints the output of its tests
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import steps

TOP = Path(__file__).resolve().parent.parent
WORK = TOP / ".build/mutation"
COPY = WORK / "package"
STATE = WORK / "state.json"
AREAS = {
    "Migration": steps.MIGRATION,
    "Sealing": ["Sources/Backends/Sealing"],
    "SQLite": ["Sources/Backends/SQLite/Writing"],
}
#: The least share of killed mutants of each area.
GOAL = 0.80
#: Names in the copy that are not copied and not removed.
KEPT = {".build", ".swiftpm", "Package.resolved"}


# MARK: Swift sources


def masked(text):
    """Returns the text with spaces instead of comments and string literals. Offsets and lines stay the same."""
    out, at = list(text), 0

    def blank(begin, end):
        for index in range(begin, end):
            if out[index] != "\n":
                out[index] = " "

    def literal(at):
        """Returns the end of the string literal at an offset."""
        fence = len(text[at:]) - len(text[at:].lstrip("#"))
        quote = '"""' if text.startswith('"""', at + fence) else '"'
        at += fence + len(quote)
        end, escape = quote + "#" * fence, "\\" + "#" * fence
        while at < len(text) and not text.startswith(end, at):
            if text.startswith(escape + "(", at):
                depth, at = 1, at + len(escape) + 1
                while depth and at < len(text):
                    if re.match(r'#*"', text[at:]):
                        at = literal(at)
                        continue
                    depth += {"(": 1, ")": -1}.get(text[at], 0)
                    at += 1
            else:
                at += len(escape) + 1 if text.startswith(escape, at) else 1
        return at + len(end)

    while at < len(text):
        if text.startswith("//", at):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            blank(at, end)
        elif text.startswith("/*", at):
            end = text.find("*/", at)
            end = len(text) if end < 0 else end + 2
            blank(at, end)
        elif re.match(r'#*"', text[at : at + 8]):
            end = literal(at)
            blank(at, end)
            # A literal stays visible as an operand.
            out[at] = out[end - 1] = '"'
        else:
            end = at + 1
        at = end
    return "".join(out)


@dataclass
class Scope:
    """The code between two braces: of a type, a function, a block or a closure."""

    kind: str
    header: str
    #: The parentheses that are open inside these braces, each with the name before it.
    calls: list = field(default_factory=list)


BLOCKS = re.compile(r"(\}\s*)?(if|else|for|while|do|catch|switch|guard|defer|repeat)\b")
MODIFIERS = r"(@\w+(\([^)]*\))?|public|package|private|fileprivate|static|mutating|nonisolated|override|final|class|convenience)"
FUNCTIONS = re.compile(rf"({MODIFIERS}\s+)*(func|init|deinit|subscript|var|let|get|set|willSet|didSet)\b")
TYPES = re.compile(r"\b(struct|enum|extension|protocol|actor|class(?!\s+(func|var)))\s+[A-Z]")


def scope(header):
    """Returns the scope that a brace opens after a text."""
    lines = [line.strip() for line in header.split("\n")]
    for number in range(len(lines) - 1, -1, -1):
        rest = " ".join(lines[number:]).strip()
        if TYPES.search(lines[number]) and not FUNCTIONS.match(lines[number]):
            return Scope("type", rest)
        if BLOCKS.match(lines[number]):
            return Scope("block", rest)
        if FUNCTIONS.match(lines[number]):
            # The braces after a value are those of a closure, not of a computed property.
            is_closure = re.search(r"\b(var|let)\b[^{]* = ", rest) is not None
            return Scope("closure" if is_closure else "function", rest)
    return Scope("closure", lines[-1])


#: Calls whose arguments only describe a failure, or whose condition is not for the tests.
SILENT = re.compile(r"(Error|Fault|Failure|precondition|preconditionFailure|assert|assertionFailure|fatalError|print|log\w*)$")
#: Properties and lines without an effect that a test must notice.
TEXTS = re.compile(r"\bvar (description|debugDescription|customMirror|displayName|message|remedy)\b")
SKIPPED = re.compile(r"\s*(#|@|import\b|\}?\s*$)|.*\b(logger|os_log|assert|precondition|fatalError|preconditionFailure)\b|\s*throw\b")


class Source:
    """One Swift file, with the scopes of each position."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.mask = masked(self.text)
        self.lines = self.text.split("\n")
        self.masks = self.mask.split("\n")
        #: For each line, the scopes and the open parentheses at its begin.
        self.scopes = []
        self.read()

    def read(self):
        stack, header = [Scope("type", "file")], 0
        for number, line in enumerate(self.masks):
            self.scopes.append([Scope(each.kind, each.header, list(each.calls)) for each in stack])
            for column, letter in enumerate(line):
                header = self.pass_by(stack, letter, self.offset(number) + column, header)

    def offset(self, number):
        """Returns the offset of a line."""
        if not hasattr(self, "offsets"):
            self.offsets, total = [], 0
            for line in self.masks:
                self.offsets.append(total)
                total += len(line) + 1
        return self.offsets[number]

    def pass_by(self, stack, letter, at, header):
        if letter == "{":
            stack.append(scope(self.mask[header:at]))
            return at + 1
        if letter == "}":
            if len(stack) > 1:
                stack.pop()
            return at + 1
        if letter in "([":
            name = re.search(r"[\w.]*$", self.mask[max(0, at - 60) : at])
            stack[-1].calls.append(name[0] if name else "")
        elif letter in ")]" and stack[-1].calls:
            stack[-1].calls.pop()
        return header

    def at(self, number, column):
        """Returns the scopes at a position."""
        stack = [Scope(each.kind, each.header, list(each.calls)) for each in self.scopes[number]]
        base = self.offset(number)
        header = max(self.mask.rfind("{", 0, base), self.mask.rfind("}", 0, base)) + 1
        for index in range(column):
            header = self.pass_by(stack, self.masks[number][index], base + index, header)
        return stack


# MARK: Mutants


@dataclass
class Mutant:
    """One change of one line."""

    area: str
    path: str
    line: int
    kind: str
    #: The column of the change, the replaced text, and the text of the mutant as a person would write it.
    column: int
    old: str
    new: str
    #: The text in the copy. `#` stands for the number of the mutant.
    code: str
    #: The declaration of an operator that the text in the copy uses.
    operator: str = ""
    number: int = 0


COMPARISONS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
LOGICAL = {"&&": "||", "||": "&&"}


def declaration(old, new):
    """Returns the declaration of an operator that is `old`, and `new` if the mutant is on. `@` stands for its name, `#` for the number."""
    if old == "??":
        return (
            "infix operator @: NilCoalescingPrecedence\n"
            "package func @ <T>(l: T?, r: @autoclosure () throws -> T) rethrows -> T { isMutant(#) ? try r() : try l ?? r() }\n"
            "@_disfavoredOverload "
            "package func @ <T>(l: T?, r: @autoclosure () throws -> T?) rethrows -> T? { isMutant(#) ? l : try l ?? r() }\n")
    if old in LOGICAL:
        group = "LogicalConjunctionPrecedence" if old == "&&" else "LogicalDisjunctionPrecedence"
        return (
            f"infix operator @: {group}\n"
            "package func @ (l: Bool, r: @autoclosure () throws -> Bool) rethrows -> Bool "
            f"{{ isMutant(#) ? try l {new} r() : try l {old} r() }}\n")
    kind = "Equatable" if old in ("==", "!=") else "Comparable"
    text = (
        "infix operator @: ComparisonPrecedence\n"
        f"package func @ <T: {kind}>(l: T, r: T) -> Bool {{ isMutant(#) ? l {new} r : l {old} r }}\n")
    if kind == "Equatable":
        text += f"package func @ <T>(l: T?, r: _OptionalNilComparisonType) -> Bool {{ isMutant(#) ? l {new} r : l {old} r }}\n"
    return text


def operators(line):
    """Yields the mutants of the operators of a line: column, old text, new text, code, kind, declaration."""
    for match in re.finditer(r"(?<=\s)(==|!=|<=|>=|<|>|&&|\|\||\?\?)(?=\s)", line):
        old = match[1]
        if old == "??":
            yield match.start(), old, "?? (without the value before it, or without the default)", "@", "default", declaration(old, old)
        else:
            new = COMPARISONS.get(old) or LOGICAL[old]
            yield match.start(), old, new, "@", "comparison" if old in COMPARISONS else "logic", declaration(old, new)


def literals(line):
    """Yields the mutants of the Bools and integers of a line."""
    for match in re.finditer(r"(?<![\w.])(true|false)\b", line):
        if not re.search(r"\bwhile $", line[: match.start()]):
            new = "false" if match[1] == "true" else "true"
            yield match.start(), match[1], new, "(!isMutant(#))" if match[1] == "true" else "isMutant(#)", "literal", ""
    for match in re.finditer(r"(?<![\w$.])\d[\d_]*(?![\w]|\.\d)", re.sub(r"\.\.(\.|<)", lambda dots: ",,,"[: len(dots[0])], line)):
        new = str(int(match[0].replace("_", "")) + 1)
        yield match.start(), match[0], new, f"(isMutant(#) ? {new} : {match[0]})", "number", ""


def clauses(line):
    """Yields the mutants of the conditions of `if` and `guard`: each clause that is a Bool and ends on the line."""
    match = re.match(r"(.*?)(?<![\w.])(if|guard) ", line)
    if not match:
        return
    begin = at = match.end()
    depth = 0
    while at <= len(line):
        letter = line[at] if at < len(line) else ""
        is_end = depth == 0 and (letter == "," or line.startswith(" {", at) or line.startswith(" else", at))
        if is_end:
            clause = line[begin:at]
            if clause.strip() and not re.match(r"\s*(let|var|case|#|_)\b|\s*#", clause):
                lead = len(clause) - len(clause.lstrip())
                text = clause.strip()
                yield begin + lead, text, f"!({text})", None, "condition", ""
            if letter != ",":
                return
            begin = at + 1
        depth += (letter in ("(", "[", "{")) - (letter in (")", "]", "}")) if letter else 0
        at += 1


#: The first words of statements that are no calls, and calls that must not be left out.
OTHERS = set("if guard for while switch do return defer case repeat catch else super.init self.init withExtendedLifetime print".split())


def removed_call(source, number):
    """Yields the mutant that leaves out the call of a line, if the whole line is a call whose value is unused."""
    line = source.masks[number]
    match = re.match(r"(\s*)((_ = )?(try[?!]? )?(await )?[A-Za-z_][\w.?!]*(\(| \{).*[)}])\s*$", line)
    stack = source.scopes[number]
    if not match or stack[-1].calls or stack[-1].kind == "type":
        return
    first = re.match(r"(?:_ = )?(?:try[?!]? )?(?:await )?([\w.]+)", match[2])
    # An initializer is a value.
    if first[1] in OTHERS or first[1].split(".")[-1][:1].isupper():
        return
    text, depth = match[2], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return
    outside = re.sub(r"\{.*\}", "", re.sub(r"\(.*\)", "", text.removeprefix("_ = ")))
    if depth or re.search(r" [=?<>&|+*/%-]+ | in\b", outside):
        return
    before = source.mask[: source.offset(number)].rstrip()
    after = source.mask[source.offset(number) + len(line) :].lstrip()
    is_first_of_case = re.search(r"^\s*(case\b.*|default):$", before.split("\n")[-1])
    if re.match(r"[.?:&|+]", after) or (re.search(r"([=(,?:&|+]|\breturn|->)$", before) and not is_first_of_case):
        return
    # The only statement of a case can be the value of the switch.
    if is_first_of_case and re.match(r"case\b|default:|\}", after) and returns_value(stack):
        return
    # The only statement of a closure, or of a function with a result, is its value.
    if (before.endswith("{") or re.search(r"\bin$", before)) and after.startswith("}"):
        if stack[-1].kind != "block" and returns_value(stack):
            return
    yield len(match[1]), None, "(left out)", None, "call", ""


def returns_value(stack):
    """Whether the nearest function around a position has a result. A closure can have one."""
    each = next((each for each in reversed(stack) if each.kind != "block"), None)
    return each is None or each.kind != "function" or "->" in each.header or re.search(r"\bvar\b", each.header) is not None


def is_bool(stack):
    """Whether the nearest function around a position returns a Bool."""
    for each in reversed(stack):
        if each.kind == "function":
            return re.search(r"->\s*Bool$|\bvar \w+: Bool$", each.header.strip()) is not None
        if each.kind != "block":
            return False
    return False


def returns(source, number):
    """Yields the mutants of a returned Bool, with `return` or as the only expression between the braces of a function on one line."""
    line, stack = source.masks[number], source.scopes[number]
    match = re.match(r"(\s*(?:case .*: |default: )?return )(\S.*)$", line) or re.match(r"(.*\belse \{ return )(\S.*)( \})$", line)
    if match:
        text, after = match[2].rstrip(), source.mask[source.offset(number) + len(line) :].lstrip()
        if re.match(r"[.?:&|+=<>!]", after):
            return
        if is_bool(stack) and text.count("(") == text.count(")") and text.count("{") == text.count("}"):
            yield len(match[1]), text, f"!({text})", None, "return", ""
        return
    match = re.match(r"(.*(?:-> Bool|var \w+: Bool) \{ )([^{}]*\S)( \})$", line)
    if match and not re.fullmatch(r"get( set)?", match[2]):
        yield len(match[1]), match[2], f"!({match[2]})", None, "return", ""


def mutants(area, source, name):
    """Returns the possible mutants of a file, by line."""
    found = {}
    for number, line in enumerate(source.masks):
        if SKIPPED.match(line) or not line.strip():
            continue
        if any(TEXTS.search(each.header) for each in source.scopes[number]) or TEXTS.search(line):
            continue
        # The patterns of a case are no expressions.
        pattern = re.match(r"\s*(case|default)\b(.*?):(?=\s|$)", line)
        first = pattern.end() if pattern else 0
        drafts = [*operators(line), *literals(line), *clauses(line), *removed_call(source, number), *returns(source, number)]
        for column, old, new, code, kind, operator in drafts:
            stack = source.at(number, column)
            following = line[column : column + 1]
            if column < first or not following or stack[-1].kind == "type":
                continue
            if any(SILENT.search(call) for each in stack for call in each.calls):
                continue
            actual = source.lines[number]
            old = actual[column:].rstrip() if old is None else actual[column : column + len(old)]
            # Show string literals, which the mask hides.
            if kind in ("condition", "return"):
                new, code = f"!({old})", f"({old}) != isMutant(#)"
            elif kind == "call":
                code = f"if !isMutant(#) {{ {old} }}"
            if "\n" in old or (kind == "call" and "//" in old):
                continue
            found.setdefault(number, []).append(Mutant(area, name, number + 1, kind, column, old, new, code, operator))
    return found


def draw(areas, count, seed):
    """Draws mutants: the same number in each area, on random lines, at most one on a line."""
    dice, drawn = random.Random(seed), []
    for index, area in enumerate(areas):
        lines = []
        for path in sorted(path for folder in AREAS[area] for path in (TOP / folder).rglob("*.swift")):
            lines += mutants(area, Source(path), str(path.relative_to(TOP))).values()
        wanted = count // len(areas) + (index < count % len(areas))
        drawn += [dice.choice(choices) for choices in dice.sample(lines, min(wanted, len(lines)))]
    for number, mutant in enumerate(drawn, 1):
        mutant.number = number
    return drawn


# MARK: The copy


def name_of_operator(number):
    """Returns an operator that belongs to one mutant: its number in binary digits."""
    return "%%" + f"{number:b}".replace("0", "~").replace("1", "^")


def contents(chosen):
    """Returns the content of each mutated file, and the one of the file with the switch."""
    files, declarations = {}, []
    for mutant in chosen:
        lines = files.setdefault(mutant.path, (TOP / mutant.path).read_text().split("\n"))
        name = name_of_operator(mutant.number)
        code = mutant.code.replace("@", name).replace("#", str(mutant.number)) if mutant.operator else re.sub(
            r"isMutant\(#\)", f"isMutant({mutant.number})", mutant.code)
        line = lines[mutant.line - 1]
        assert line[mutant.column :].startswith(mutant.old), mutant
        lines[mutant.line - 1] = line[: mutant.column] + code + line[mutant.column + len(mutant.old) :]
        if mutant.operator:
            text = mutant.operator.replace("#", str(mutant.number))
            declarations.append(re.sub(r"@(?![\w])", name, text))
    for path, lines in files.items():
        # Stay on the line of the first import, so that the numbers of lines are those of the original.
        if not any(re.match(r"\s*((public|package|internal) )?import BackendContract$", line) for line in lines):
            imports = [index for index, line in enumerate(lines) if re.match(r"\s*((public|package|internal|private|@\w+) )*import ", line)]
            first = imports[0] if imports else 0
            lines[first] = "import BackendContract; " + lines[first].lstrip()
    switch = [
        "#if canImport(Glibc)\n    internal import Glibc\n#else\n    internal import Darwin\n#endif\n",
        "/// The number of the mutant that is on; 0 for none.",
        'private let number = getenv("LOCALDATA_MUTANT").flatMap { Int(String(cString: $0)) } ?? 0\n',
        "package func isMutant(_ wanted: Int) -> Bool { number == wanted }\n",
    ]
    return {path: "\n".join(lines) for path, lines in files.items()} | {
        "Sources/Backends/Contract/MutantSwitch.swift": "\n".join(switch + declarations)}


def write_copy(chosen):
    """Makes the copy. Writes only files that differ from the last copy, because an incremental build compares the times of files."""
    words = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
    listed = subprocess.run(words, cwd=TOP, check=True, stdout=subprocess.PIPE, text=True).stdout
    names = {name for name in listed.split("\0") if name and ((TOP / name).is_file() or (TOP / name).is_symlink())}
    changed = contents(chosen)
    COPY.mkdir(parents=True, exist_ok=True)
    if (TOP / "Package.resolved").exists() and not (COPY / "Package.resolved").exists():
        shutil.copy2(TOP / "Package.resolved", COPY)
    for name in names | set(changed):
        target = COPY / name
        if (TOP / name).is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            target.symlink_to(os.readlink(TOP / name))
            continue
        content = changed[name].encode() if name in changed else (TOP / name).read_bytes()
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        if name in names:
            shutil.copymode(TOP / name, target)
    for folder, folders, files in os.walk(COPY):
        if Path(folder) == COPY:
            folders[:] = [each for each in folders if each not in KEPT]
        for each in files:
            name = str((Path(folder) / each).relative_to(COPY))
            if name not in names and name not in changed and name not in KEPT:
                (COPY / name).unlink()


def build(chosen):
    """Builds the copy. Returns the mutants that compile."""
    environment = {**os.environ, "LOCALDATA_PROOF": "1"}
    for _ in range(12):
        write_copy(chosen)
        result = subprocess.run(
            ["Scripts/build", "--build-tests"], cwd=COPY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace")
        (WORK / "build.log").write_text(result.stdout)
        if result.returncode == 0:
            return chosen
        # The macro of a file name can precede a message; only messages of the mutated sources count.
        errors = {(path, int(line)) for path, line in re.findall(
            rf"^{re.escape(str(COPY))}/([^:\n]+):(\d+):\d+: error:", result.stdout, re.M)}
        dropped = set()
        for path, line in errors:
            # A message can be about another line of the same function.
            near = [(abs(mutant.line - line), mutant.number) for mutant in chosen if mutant.path == path]
            dropped |= {number for distance, number in near if distance == min(near)[0]}
        if not dropped:
            sys.exit(f"The copy does not build, and no mutant is the cause. See {WORK / 'build.log'}.\n{result.stdout[-3_000:]}")
        for mutant in chosen:
            if mutant.number in dropped:
                print(f"{place(mutant)}: does not compile: {mutant.old} → {mutant.new}", flush=True)
        chosen = [mutant for mutant in chosen if mutant.number not in dropped]
    sys.exit(f"The copy does not build after twelve attempts. See {WORK / 'build.log'}.")


# MARK: Tests


@dataclass
class Stage:
    """Tests that must notice a mutant."""

    name: str
    words: list
    environment: dict = field(default_factory=dict)


FAST = {"LOCALDATA_FAST": "1", "LOCALDATA_LAWS": "0.05"}


def tests(name, filter, environment=FAST):
    bundle = str(COPY / ".build/debug/LocalDataPackageTests.xctest")
    words = [bundle, "--testing-library", "swift-testing", "--filter", filter, "--skip", "^[A-Za-z]+Searches[.]"]
    return Stage(name, words, environment)


def suites(folder):
    """Returns a filter for the suites in a folder of tests."""
    module = folder.split("/")[1]
    texts = [path.read_text() for path in (TOP / folder).rglob("*.swift")]
    names = {name for text in texts for name in re.findall(r"^ *(?:@Suite.*)?(?:struct|extension) (\w+Tests)\b", text, re.M)}
    return f"^{module}[.]({'|'.join(sorted(names))})/"


def stages(area):
    """Returns the tests for a mutant of an area, the fastest first."""
    prove = str(COPY / ".build/debug/Prove")
    every = tests("all fast tests", "^[A-Za-z]+Tests[.]")
    match area:
        case "Migration":
            simulations = [Stage(f"simulation: {name}", [prove, name, "--seeds", "300"]) for name in ("campaigns", "records", "windows")]
            return [tests("migration tests", suites("Tests/LocalDataTests/Migration")), *simulations, every]
        case "Sealing":
            return [tests("sealing tests", "^SealingTests[.]"), every]
        case _:
            laws = tests("laws", "^ConformanceTests[.]LawTests/", {"LOCALDATA_LAWS": "0.05"})
            return [tests("SQLite tests", "^SQLiteBackendTests[.]"), every, laws]


class Runner:
    """Runs programs, and ends them with everything that they have started."""

    def __init__(self):
        self.running, self.is_closed = set(), False
        self.lock = threading.Lock()

    def close(self):
        """Ends all programs, and starts no more."""
        with self.lock:
            self.is_closed = True
            for process in self.running:
                self.end(process)

    @staticmethod
    def end(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def run(self, stage, mutant, limit, shows=False):
        """Runs a stage until it ends, a test fails, or the time is over. Returns "passed", "failed" or "timed out", and the reason."""
        # The path must be short, because programs create sockets below it.
        folder = tempfile.mkdtemp(prefix="mut-", dir="/tmp")
        environment = {**os.environ, **stage.environment, "LOCALDATA_PROOF": "1", "NO_COLOR": "1", "TMPDIR": folder}
        environment.pop("LOCALDATA_MUTANT", None)
        if mutant:
            environment["LOCALDATA_MUTANT"] = str(mutant)
        end = time.monotonic() + limit
        with self.lock:
            if self.is_closed:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                stage.words, cwd=COPY, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", start_new_session=True)
            self.running.add(process)
        lines = queue.SimpleQueue()

        def read():
            for line in process.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        last, hasEnded = "", False
        try:
            while True:
                try:
                    line = lines.get(timeout=max(0, min(2, end - time.monotonic())))
                except queue.Empty:
                    if time.monotonic() >= end:
                        return "timed out", stage.name
                    # A program that it has started may keep the output open.
                    if hasEnded:
                        break
                    hasEnded = process.poll() is not None
                    continue
                if line is None:
                    break
                if shows:
                    print(line, end="", flush=True)
                if re.search(r"^✘ .* recorded an issue|Fatal error:", line):
                    return "failed", line.strip()
                last = line.strip() or last
            status = process.wait()
            if status == 69:
                sys.exit(f"No tests for {stage.name}: {' '.join(stage.words)}")
            return ("passed", "") if status == 0 else ("failed", f"{stage.name} ended with {status}: {last}")
        finally:
            self.end(process)
            process.wait()
            with self.lock:
                self.running.discard(process)
            shutil.rmtree(folder, ignore_errors=True)


def place(mutant):
    return f"{mutant.number:3} {mutant.path}:{mutant.line}"


def judge(runner, mutant, limits):
    """Runs the stages of a mutant. Returns its result."""
    begin = time.monotonic()
    for stage in stages(mutant.area):
        ending, reason = runner.run(stage, mutant.number, limits[stage.name])
        if ending != "passed":
            break
    outcome = {"passed": "survived", "failed": "killed"}.get(ending, ending)
    return {"outcome": outcome, "reason": reason, "seconds": round(time.monotonic() - begin, 1)}


# MARK: Runs


def digest():
    """Returns a digest of everything that a result depends on."""
    total = hashlib.sha256()
    for folder in ("Sources", "Tests", "Proof/Simulation"):
        for path in sorted((TOP / folder).rglob("*.swift")):
            total.update(f"{path.relative_to(TOP)}\0".encode() + path.read_bytes())
    return total.hexdigest()[:16]


def save(state):
    WORK.mkdir(parents=True, exist_ok=True)
    draft = STATE.with_suffix(".new")
    draft.write_text(json.dumps(state, indent=1, ensure_ascii=False))
    draft.replace(STATE)


def parse(chosen):
    """Parses every mutated file with the compiler. Returns whether all of them are Swift."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, text in contents(chosen).items():
            paths.append(Path(folder) / name.replace("/", "+"))
            paths[-1].write_text(text)
        return subprocess.run(["swiftc", "-parse", *map(str, paths)]).returncode == 0


def measure(runner, areas, jobs):
    """Runs the stages without a mutant. Returns for each the time after which a mutant counts as killed."""
    limits = {}
    for stage in [stage for area in areas for stage in stages(area)]:
        if stage.name in limits:
            continue
        begin = time.monotonic()
        ending, reason = runner.run(stage, 0, 1_800)
        seconds = time.monotonic() - begin
        if ending != "passed":
            sys.exit(f"{stage.name} fail without a mutant: {reason}")
        limits[stage.name] = max(20, 5 * seconds * jobs)
        print(f"without a mutant: {stage.name}: {seconds:.0f} s", flush=True)
    return limits


def report(state, drawn):
    """Prints the survivors and the score. Returns whether each area reaches the goal."""
    results = state["results"]
    survivors = [mutant for mutant in drawn if results.get(str(mutant.number), {}).get("outcome") == "survived"]
    if survivors:
        print("Survivors:")
    for mutant in survivors:
        print(f"{place(mutant)}: {mutant.kind}: {mutant.old} → {mutant.new}")
    parts, is_enough = [], True
    for area in state["areas"]:
        outcomes = [results[str(each.number)]["outcome"] for each in drawn if each.area == area and str(each.number) in results]
        killed = len(outcomes) - outcomes.count("survived")
        is_enough = is_enough and killed >= GOAL * len(outcomes)
        parts.append(f"{area} {killed} of {len(outcomes)} mutants killed ({outcomes.count('timed out')} by a time-out)")
    total = [result["outcome"] for result in results.values()]
    if total:
        print(f"score: {100 * (1 - total.count('survived') / len(total)):.0f} %")
    print(f"tried: {', '.join(parts)}; {len(state['dropped'])} did not compile")
    return is_enough


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=60, help="how many mutants are drawn (default: 60)")
    options.add_argument("--seed", type=int, help="the seed of the draw (default: the date)")
    options.add_argument("--area", action="append", choices=list(AREAS), help="draw only in this area; can be repeated")
    options.add_argument("--jobs", type=int, default=1, help="how many mutants run at once (default: 1, because the tests use all cores)")
    options.add_argument("--resume", action="store_true", help="continue the last run, if it was interrupted and the sources are unchanged")
    options.add_argument("--list", action="store_true", help="print the mutants instead of running them, and parse the mutated files")
    options.add_argument("--only", type=int, metavar="NUMBER", help="run one mutant of the last run again and print the output")
    options = options.parse_args()
    seed = options.seed if options.seed is not None else int(datetime.now(timezone.utc).strftime("%Y%m%d"))
    areas = options.area or list(AREAS)

    if options.list:
        drawn = draw(areas, options.count, seed)
        for mutant in drawn:
            print(f"{place(mutant)}: {mutant.kind}: {mutant.old} → {mutant.new}")
        return 0 if parse(drawn) else 1

    state = json.loads(STATE.read_text()) if STATE.exists() else None
    current = digest()
    is_same = state is not None and state["digest"] == current
    if options.only and not is_same:
        sys.exit("The last run was of other sources. Begin a new run.")
    wanted = {"count": options.count, "areas": areas} | ({} if options.seed is None else {"seed": seed})
    if options.resume and is_same and not state["isOver"] and all(state[name] == value for name, value in wanted.items()):
        print(f"continues the run of seed {state['seed']}: {len(state['results'])} mutants are done", flush=True)
    elif not options.only:
        state = {**wanted, "seed": seed, "digest": current, "isOver": False, "dropped": [], "limits": {}, "results": {}}
        print(f"seed {seed}, {options.count} mutants in {', '.join(areas)}", flush=True)
    drawn = draw(state["areas"], state["count"], state["seed"])
    dropped = set(state["dropped"])
    chosen = [mutant for mutant in drawn if mutant.number not in dropped]
    subprocess.run(["Scripts/setup"], cwd=TOP, check=True)
    WORK.mkdir(parents=True, exist_ok=True)
    chosen = build(chosen)
    state["dropped"] = sorted({mutant.number for mutant in drawn} - {mutant.number for mutant in chosen})
    state["mutants"] = [asdict(mutant) for mutant in drawn]
    save(state)
    runner = Runner()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    try:
        if options.only:
            mutant = next((mutant for mutant in chosen if mutant.number == options.only), None)
            if mutant is None:
                sys.exit(f"There is no mutant {options.only}, or it does not compile.")
            for stage in stages(mutant.area):
                ending, reason = runner.run(stage, mutant.number, 1_800, shows=True)
                if ending != "passed":
                    break
            print(f"{place(mutant)}: {mutant.kind}: {mutant.old} → {mutant.new}: {ending}. {reason}")
            return 0
        if not state["limits"]:
            state["limits"] = measure(runner, state["areas"], options.jobs)
            save(state)
        left = [mutant for mutant in chosen if str(mutant.number) not in state["results"]]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            running = {pool.submit(judge, runner, mutant, state["limits"]): mutant for mutant in left}
            try:
                for future in concurrent.futures.as_completed(running):
                    mutant, result = running[future], future.result()
                    state["results"][str(mutant.number)] = result
                    save(state)
                    print(
                        f"{place(mutant)}: {result['outcome']} after {result['seconds']:.0f} s: {mutant.old} → {mutant.new}"
                        + (f" ({result['reason'][:120]})" if result["reason"] else ""), flush=True)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                runner.close()
                raise
    finally:
        runner.close()
    state["isOver"] = True
    save(state)
    return 0 if report(state, drawn) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nInterrupted. The same command with --resume continues.", file=sys.stderr)
        sys.exit(130)
