// judge answers questions about our files with the libraries of those who will read them: Prometheus' parser of
// queries and its engine, the Prometheus operator's types, and the Lua that Argo CD runs. It reads one JSON list from its input
// and writes one.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/prometheus/promql/parser"
	lua "github.com/yuin/gopher-lua"
	sigsjson "sigs.k8s.io/json"
)

type question struct {
	Query  string          `json:"query,omitempty"`  // PromQL
	Object json.RawMessage `json:"object,omitempty"` // of the Prometheus operator, or what a script is about
	Script string          `json:"script,omitempty"` // Lua

	Evaluation *evaluation `json:"evaluation,omitempty"`
}

type answer struct {
	Problem string              `json:"problem,omitempty"`
	Series  map[string][]string `json:"series,omitempty"` // names of series, and the labels that are asked of them
	Labels  []string            `json:"labels,omitempty"` // labels that results are grouped by
	Health  map[string]any      `json:"health,omitempty"`
	Results []result            `json:"results,omitempty"` // one a query of an evaluation
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answers := make([]answer, 0, len(questions))
	for _, one := range questions {
		found, err := ask(one)
		if err != nil {
			found.Problem = err.Error()
		}
		answers = append(answers, found)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(one question) (answer, error) {
	switch {
	case one.Evaluation != nil:
		return answer{Results: evaluate(*one.Evaluation)}, nil
	case one.Query != "":
		return query(one.Query)
	case one.Script != "":
		return health(one.Script, one.Object)
	default:
		return answer{}, strict(one.Object)
	}
}

// query reads PromQL and says which series and labels it is about.
func query(text string) (answer, error) {
	found := answer{Series: map[string][]string{}}
	expression, err := parser.ParseExpr(text)
	if err != nil {
		return found, err
	}
	labels := map[string]bool{}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch part := node.(type) {
		case *parser.VectorSelector:
			names := found.Series[part.Name]
			for _, matcher := range part.LabelMatchers {
				if matcher.Name != "__name__" {
					names = append(names, matcher.Name)
				}
			}
			found.Series[part.Name] = names
		case *parser.AggregateExpr:
			for _, name := range part.Grouping {
				labels[name] = true
			}
		}
		return nil
	})
	for name := range labels {
		found.Labels = append(found.Labels, name)
	}
	sort.Strings(found.Labels)
	return found, nil
}

// strict reads an object of the Prometheus operator as its own types, and refuses fields that they do not have.
func strict(object json.RawMessage) error {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(object, &head); err != nil {
		return err
	}
	kinds := map[string]any{
		"ServiceMonitor": &monitoring.ServiceMonitor{},
		"PrometheusRule": &monitoring.PrometheusRule{},
	}
	target, known := kinds[head.Kind]
	if !known || head.APIVersion != monitoring.SchemeGroupVersion.String() {
		return fmt.Errorf("%s %s is none of the Prometheus operator's that we use", head.APIVersion, head.Kind)
	}
	problems, err := sigsjson.UnmarshalStrict(object, target)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("%v", problems)
	}
	return err
}

// health runs a script as Argo CD does: the object is the global `obj`, and the result a table.
func health(script string, object json.RawMessage) (answer, error) {
	var plain any
	if err := json.Unmarshal(object, &plain); err != nil {
		return answer{}, err
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	// The libraries that Argo CD opens, too; scripts reach neither files nor processes.
	for _, one := range []struct {
		name string
		open lua.LGFunction
	}{{lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(one.open), Protect: true}, lua.LString(one.name)); err != nil {
			return answer{}, err
		}
	}
	state.SetGlobal("obj", toLua(state, plain))
	if err := state.DoString(script); err != nil {
		return answer{}, err
	}
	table, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return answer{}, fmt.Errorf("the script returned %s, not a table", state.Get(-1).Type())
	}
	found := map[string]any{}
	table.ForEach(func(name, value lua.LValue) { found[name.String()] = value.String() })
	return answer{Health: found}, nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch found := value.(type) {
	case bool:
		return lua.LBool(found)
	case float64:
		return lua.LNumber(found)
	case string:
		return lua.LString(found)
	case []any:
		table := state.NewTable()
		for _, one := range found {
			table.Append(toLua(state, one))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for name, one := range found {
			table.RawSetString(name, toLua(state, one))
		}
		return table
	default:
		return lua.LNil
	}
}
