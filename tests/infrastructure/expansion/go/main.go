// expansion replaces references to variables in containers as the kubelet does, with the kubelet's own code. It reads one
// JSON list of containers from its input and writes one.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	kubelet "k8s.io/kubernetes/third_party/forked/golang/expansion"
)

type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type container struct {
	Known   map[string]string `json:"known"` // variables whose values come from elsewhere, for example from Secrets
	Env     []variable        `json:"env"`
	Command []string          `json:"command"`
	Args    []string          `json:"args"`
}

func main() {
	var containers []container
	if err := json.NewDecoder(os.Stdin).Decode(&containers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for index := range containers {
		expand(&containers[index])
	}
	if err := json.NewEncoder(os.Stdout).Encode(containers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// expand is what makeEnvironmentVariables and ExpandContainerCommandAndArgs of the kubelet do: a variable may refer to
// those before it, command and arguments to all.
func expand(one *container) {
	values := map[string]string{}
	mapping := kubelet.MappingFuncFor(values, one.Known)
	for index, found := range one.Env {
		one.Env[index].Value = kubelet.Expand(found.Value, mapping)
		values[found.Name] = one.Env[index].Value
	}
	for _, texts := range [][]string{one.Command, one.Args} {
		for index, text := range texts {
			texts[index] = kubelet.Expand(text, mapping)
		}
	}
}
