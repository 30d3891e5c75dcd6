"""Judges a history of calls on a server: usage: judge.py HISTORY. Prints a line for each broken rule, and exits with 1.

The history has one JSON object a line, as ServerHistory.swift describes. The judge shares no code with the library.

Every write names the revision that it replaces, so the writes of a key form a chain from "absent" to the last revision.
The chain is the only order in which the writes can have happened. The history is linearizable if that order, with each
read at the revision that it returned, agrees with the times of the calls.
"""

import json
import sys
from collections import defaultdict
from itertools import accumulate


def judge(calls):
    """Returns the broken rules of one key's calls."""
    broken = []
    reads = [call for call in calls if not call["isWrite"] and call["outcome"] == "done"]
    writes = [call for call in calls if call["isWrite"]]

    # The write that made each revision. A write without an answer made the revision with its value that a call has read.
    made = {call["after"]: call for call in writes if call["outcome"] == "done"}
    unanswered = [call for call in writes if call["outcome"] == "unknown"]
    values = {call["value"]: call for call in unanswered if call["value"] != "removed"}
    read_values = {}
    for read in reads:
        read_values.setdefault(read["after"], read["value"])
        if read["value"] != read_values[read["after"]]:
            broken.append(f"revision {read['after']} was read as {read['value']} and as {read_values[read['after']]}")
    for revision, value in read_values.items():
        if revision != "absent" and revision not in made and value in values:
            made[revision] = values.pop(value)
    # A removal has no value that identifies it. It made an unknown revision if no other write replaced the same revision.
    replaced = {call["before"] for call in made.values()}
    removals = sorted((call for call in unanswered if call["value"] == "removed"), key=lambda call: call["begin"])
    for revision, value in read_values.items():
        if revision == "absent" or revision in made:
            if revision in made and made[revision]["value"] != value:
                broken.append(f"revision {revision} was stored as {made[revision]['value']} and read as {value}")
            continue
        removal = next((call for call in removals if call["before"] not in replaced), None) if value == "removed" else None
        if removal is None:
            broken.append(f"revision {revision} with the value {value} was made by no call")
        else:
            made[revision] = removal
            replaced.add(removal["before"])

    # The chain.
    next_of = defaultdict(list)
    for revision, call in made.items():
        next_of[call["before"]].append(revision)
    for revision, following in next_of.items():
        if len(following) > 1:
            broken.append(f"revision {revision} was replaced {len(following)} times")
    chain = ["absent"]
    while len(next_of.get(chain[-1], [])) == 1 and len(chain) <= len(made):
        chain.append(next_of[chain[-1]][0])
    place = {revision: index for index, revision in enumerate(chain)}
    for revision, call in made.items():
        if revision not in place:
            broken.append(f"the write of {call['value']} as revision {revision} is not in the chain: lost")
    if reads:
        last = max(reads, key=lambda call: call["begin"])
        if last["after"] != chain[-1]:
            broken.append(f"the last read returned {last['after']}, and the chain ends with {chain[-1]}")

    # The times: no call may end before a call begins that is earlier in the chain. The reads of one revision have no order.
    # A call without an answer may end at any time.
    points = defaultdict(list)
    for revision, call in made.items():
        if revision in place:
            points[place[revision]].append(call)
    for call in reads:
        if call["after"] in place:
            points[place[call["after"]]].append(call)
    latest_begin = 0
    for index in sorted(points):
        limit = latest_begin
        for call in sorted(points[index], key=lambda call: not call["isWrite"]):
            if end_of(call) < limit:
                kind = "write" if call["isWrite"] else "read"
                broken.append(f"a {kind} of {call['value']} (place {index}) ended before a call at an earlier place began: stale")
            if call["isWrite"]:
                limit = max(limit, call["begin"])
            latest_begin = max(latest_begin, call["begin"])

    # A conflict needs another revision than the required one at some time of the call. A revision was made after the begins of
    # all calls that are earlier in the chain, and before the ends of all later ones.
    begins = [max((call["begin"] for call in points[index]), default=0) for index in range(len(chain))]
    ends = [min((end_of(call) for call in points[index]), default=float("inf")) for index in range(len(chain))]
    latest_begins, earliest_ends = list(accumulate(begins, max)), list(accumulate(reversed(ends), min))[::-1]
    for call in writes:
        if call["outcome"] == "conflict" and call["before"] in place:
            index = place[call["before"]]
            is_last = index + 1 == len(chain)
            is_replaced = not is_last and max(latest_begins[index], made[chain[index + 1]]["begin"]) <= call["end"]
            is_not_yet_made = index > 0 and earliest_ends[index] >= call["begin"]
            if not (is_replaced or is_not_yet_made):
                broken.append(f"the write of {call['value']} met a conflict, and {call['before']} was not replaced")
    return broken


def end_of(call):
    """Returns the latest time at which a call can have taken effect."""
    return call["end"] if call["outcome"] == "done" else float("inf")


def test():
    """Tries the rule of conflicts: the value 1 was read at 50, so a call from 30 to 40 that requires it meets no conflict."""
    def call(is_write, begin, end, before, after, value, outcome="done"):
        return {"isWrite": is_write, "begin": begin, "end": end, "before": before, "after": after, "value": value, "outcome": outcome}

    def broken(end):
        return judge([
            call(True, 0, 10, "absent", "a", "1"), call(True, 12, 100, "a", "b", "2"), call(False, 50, 60, None, "a", "1"),
            call(True, 30, end, "a", None, "3", "conflict"), call(False, 200, 210, None, "b", "2"),
        ])

    assert broken(40) == ["the write of 3 met a conflict, and a was not replaced"] and broken(50) == []


def main():
    if sys.argv[1:] == ["--test"]:
        return test()
    keys = defaultdict(list)
    with open(sys.argv[1]) as file:
        for line in file:
            call = json.loads(line)
            for name in ("before", "after", "value"):
                call.setdefault(name, None)
            keys[call["key"]].append(call)
    broken = [f"key {key}: {text}" for key, calls in sorted(keys.items()) for text in judge(calls)]
    for text in broken[:50]:
        print(text)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
