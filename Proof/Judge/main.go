// Judges histories with porcupine, and compares its answers with those of our judges. porcupine.py builds and runs it.
//
// Each argument is a command that offers histories, as Proof/Prove/HistoryCommand.swift describes. The command answers
// questions about the model, so that porcupine visits only the states that it needs.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

type history struct {
	Source string
	// The answers of our judges, by their names: whether one order of the calls explains the history.
	Answers map[string]bool
	Calls   []struct {
		Action string
		Begin  int64
		// nil for a call that may take effect at any later time, or never.
		End        *int64
		IsOptional bool
	}
}

type state struct {
	model int
	// How many open calls of each group have taken effect. The calls of a group have the same action. They take effect in
	// the order of their begins, because any other order has the same results.
	used string
}

// The time of a last call, after all calls that have an end. Its state is over: an open call that follows has no effect.
const last = int64(1) << 62

var over = state{model: -1}

// How long porcupine may search one history.
const limit = 60 * time.Second

// Returns porcupine's answer. The function after returns the states after a call.
func judge(history history, after func(state, call int) []int) porcupine.CheckResult {
	operations := []porcupine.Operation{{Input: len(history.Calls), Call: last, Return: last + 1}}
	for index, call := range history.Calls {
		end := last + 2
		if call.End != nil {
			end = *call.End
		}
		operations = append(operations, porcupine.Operation{Input: index, Call: call.Begin, Return: end})
	}
	groups, places := map[string][]int{}, map[int]int{}
	for index, call := range history.Calls {
		if call.End == nil {
			groups[call.Action] = append(groups[call.Action], index)
		}
	}
	start, groupOf := state{}, map[int]int{}
	for _, group := range groups {
		sort.SliceStable(group, func(one, other int) bool { return history.Calls[group[one]].Begin < history.Calls[group[other]].Begin })
		for place, index := range group {
			places[index], groupOf[index] = place, len(start.used)
		}
		start.used += "\x00"
	}
	known := map[[2]int][]int{}
	begin, isLate := time.Now(), false
	// Adds the states that are possible after a call.
	add := func(states map[state]bool, from state, index int) {
		call, group := history.Calls[index], groupOf[index]
		used := from.used
		if call.End == nil {
			if int(used[group]) != places[index] {
				return
			}
			used = used[:group] + string([]byte{used[group] + 1}) + used[group+1:]
		} else if call.IsOptional {
			states[from] = true
		}
		key := [2]int{from.model, index}
		if _, isKnown := known[key]; !isKnown {
			known[key] = after(from.model, index)
		}
		for _, number := range known[key] {
			states[state{number, used}] = true
		}
	}
	// A state of porcupine is the set of the states that are possible, because porcupine's sets are slow if they are large.
	model := porcupine.Model{
		Init: func() interface{} { return map[state]bool{start: true} },
		Step: func(before, input, _ interface{}) (bool, interface{}) {
			states := map[state]bool{}
			for from := range before.(map[state]bool) {
				if isLate = isLate || time.Since(begin) > limit; isLate {
					return false, nil
				}
				if from == over || input.(int) == len(history.Calls) {
					states[over] = true
				} else {
					add(states, from, input.(int))
				}
			}
			return len(states) > 0, states
		},
		Equal: func(one, other interface{}) bool {
			for each := range one.(map[state]bool) {
				if !other.(map[state]bool)[each] {
					return false
				}
			}
			return len(one.(map[state]bool)) == len(other.(map[state]bool))
		},
		Hash: func(states interface{}) (sum uint64) {
			for each := range states.(map[state]bool) {
				sum += uint64(each.model+2) * 0x9E3779B97F4A7C15
			}
			return sum
		},
	}
	isLinearizable := porcupine.CheckOperations(model, operations)
	switch {
	case isLate:
		return porcupine.Unknown
	case isLinearizable:
		return porcupine.Ok
	}
	return porcupine.Illegal
}

func main() {
	// The number of histories of each source, and the number of those that porcupine refused.
	counts := map[string][2]int{}
	all, undecided, disagreements := 0, 0, 0
	for _, words := range os.Args[1:] {
		process := exec.Command("sh", "-c", "exec "+words)
		process.Stderr = os.Stderr
		questions, err := process.StdinPipe()
		check(err)
		output, err := process.StdoutPipe()
		check(err)
		check(process.Start())
		lines := bufio.NewReader(output)
		for {
			line, err := lines.ReadBytes('\n')
			if err == io.EOF {
				break
			}
			check(err)
			var history history
			check(json.Unmarshal(line, &history))
			result := judge(history, func(state, call int) (states []int) {
				fmt.Fprintln(questions, state, call)
				answer, err := lines.ReadBytes('\n')
				check(err)
				check(json.Unmarshal(answer, &states))
				return states
			})
			fmt.Fprintln(questions)
			all++
			count := counts[history.Source]
			count[0]++
			isWrong := false
			for _, answer := range history.Answers {
				isWrong = isWrong || answer != (result == porcupine.Ok)
			}
			if result == porcupine.Illegal {
				count[1]++
			}
			counts[history.Source] = count
			if result == porcupine.Unknown {
				undecided++
				fmt.Printf("undecided: %s", line)
			} else if isWrong {
				disagreements++
				fmt.Printf("WRONG: porcupine answers %s: %s", result, line)
			}
		}
		check(process.Wait())
	}
	var texts []string
	for source, count := range counts {
		texts = append(texts, fmt.Sprintf("%s %d (%d refused)", source, count[0], count[1]))
	}
	sort.Strings(texts)
	fmt.Printf("%d histories: %s; %d undecided, %d disagreements\n", all, strings.Join(texts, ", "), undecided, disagreements)
	if disagreements > 0 {
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
