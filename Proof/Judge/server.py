"""Offers the histories of a server, and copies with a mistake, to another judge: usage: server.py [--planted] HISTORY…

Each slot is a history, with the answer of Proof/Server/judge.py. Proof/Prove/HistoryCommand.swift describes the lines.
With --planted, the answer of judge.py leaves out its rule of times.
"""

import json
import random
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "Server"))
from judge import judge  # noqa: E402

#: How many copies of each history get a mistake.
COPIES = 7


class Model:
    """The content of a slot. A state is a revision, its value, and the revisions that writes without an answer have made."""

    def __init__(self, calls):
        made = {call["after"] for call in calls if call["isWrite"] and call["outcome"] == "done"}
        reads = {(call["after"], call["value"]) for call in calls if not call["isWrite"] and call["outcome"] == "done"}
        #: What was read although no answered write made it.
        self.unmade = sorted((after, value) for after, value in reads if after != "absent" and after not in made)
        self.states = [("absent", None, frozenset())]

    def after(self, number, call):
        """Returns the numbers of the states after a call."""
        state = revision, value, made = self.states[number]
        if not call["isWrite"]:
            found = [state] if (call["after"], call["value"]) == (revision, value) else []
        elif call["outcome"] == "conflict":
            found = [state] if call["before"] != revision else []
        elif call["before"] != revision:
            found = []
        elif call["outcome"] == "done":
            found = [(call["after"], call["value"], made)]
        else:
            found = [(after, read, made | {after}) for after, read in self.unmade if read == call["value"] and after not in made]
            # No call has read the revision.
            found.append(("unread", call["value"], made))
        for state in found:
            if state not in self.states:
                self.states.append(state)
        return [self.states.index(state) for state in found]


def spoilt(calls, dice):
    """Returns a copy with a random mistake. One order of the calls may still explain it."""
    # There is a moment between any two times.
    calls = [{**call, "begin": 2 * call["begin"], "end": 2 * call["end"]} for call in calls]
    reads = [call for call in calls if not call["isWrite"]]
    writes = [call for call in calls if call["isWrite"] and call["outcome"] == "done"]
    conflicts = [call for call in calls if call["outcome"] == "conflict"]
    # The last read stays the last one, because judge.py requires that.
    one, other = dice.sample(sorted(calls, key=lambda call: call["begin"])[:-1], 2)
    mistake = dice.randrange(6)
    if mistake == 0:
        one, other = dice.sample(reads, 2)
        one["after"], one["value"] = other["after"], other["value"]
    elif mistake == 1 and writes:
        calls.remove(dice.choice(writes))
    elif mistake == 2 and writes:
        dice.choice(writes)["outcome"] = "unknown"
    elif mistake == 3:
        # The call ends before another call that overlapped it begins.
        later = [call["begin"] for call in calls if one["begin"] < call["begin"] <= one["end"]]
        one["end"] = dice.choice(later) - 1 if later else one["end"]
    else:
        one = dice.choice(conflicts) if mistake == 4 and conflicts else one
        one["begin"], one["end"] = other["begin"], other["end"]
    return calls


def offer(calls, source, *, is_planted):
    model = Model(calls)
    broken = [text for text in judge(calls) if not (is_planted and text.endswith("stale"))]
    lines = []
    for call in calls:
        kind = "write" if call["isWrite"] else "read"
        action = f"{kind} of {call['value']}, before {call['before']}, after {call['after']}: {call['outcome']}"
        lines.append({"action": action, "begin": call["begin"], "end": None if call["outcome"] == "unknown" else call["end"]})
    print(json.dumps({"source": source, "answers": {"judge.py": not broken}, "broken": broken, "calls": lines}), flush=True)
    while len(words := sys.stdin.readline().split()) == 2:
        print(model.after(int(words[0]), calls[int(words[1])]), flush=True)


def main(arguments):
    is_planted = "--planted" in arguments
    dice = random.Random(1)
    for path in arguments:
        if path == "--planted":
            continue
        keys = defaultdict(list)
        with open(path) as file:
            for line in file:
                call = {"before": None, "after": None, "value": None, **json.loads(line)}
                # A call that failed says nothing about the slot.
                if call["outcome"] != "failed":
                    keys[call["key"]].append(call)
        for _, calls in sorted(keys.items()):
            offer(calls, "servers", is_planted=is_planted)
            for _ in range(COPIES):
                offer(spoilt(calls, dice), "servers spoilt", is_planted=is_planted)


if __name__ == "__main__":
    main(sys.argv[1:])
