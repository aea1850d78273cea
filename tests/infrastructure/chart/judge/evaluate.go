package main

import (
	"context"
	"math"
	"sort"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// evaluation asks for the values of queries over a history, as a Prometheus that had scraped it would give them.
type evaluation struct {
	History []series `json:"history"`
	Queries []string `json:"queries"`
	Start   float64  `json:"start"` // seconds since the epoch, as all times here
	End     float64  `json:"end"`
	Step    float64  `json:"step"`
	// For how long a value holds that no later one follows; a history has no marks of series that have ended.
	Lookback float64 `json:"lookback"`
}

type series struct {
	Labels map[string]string `json:"labels"`
	Points [][2]float64      `json:"points"` // a time and a value each
}

type result struct {
	Problem string   `json:"problem,omitempty"`
	Series  []series `json:"series"`
}

func evaluate(asked evaluation) []result {
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: seconds(asked.Lookback), EnableAtModifier: true,
	})
	results := make([]result, 0, len(asked.Queries))
	for _, query := range asked.Queries {
		found, err := values(engine, asked, query)
		if err != nil {
			results = append(results, result{Problem: err.Error()})
			continue
		}
		results = append(results, result{Series: found})
	}
	return results
}

func values(engine *promql.Engine, asked evaluation, query string) ([]series, error) {
	prepared, err := engine.NewRangeQuery(
		context.Background(), history(asked.History), nil, query, moment(asked.Start), moment(asked.End),
		seconds(asked.Step),
	)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	matrix, err := prepared.Exec(context.Background()).Matrix()
	if err != nil {
		return nil, err
	}
	found := make([]series, 0, len(matrix))
	for _, one := range matrix {
		points := make([][2]float64, 0, len(one.Floats))
		for _, point := range one.Floats {
			if math.IsNaN(point.F) || math.IsInf(point.F, 0) {
				continue // JSON has no such numbers
			}
			points = append(points, [2]float64{float64(point.T) / 1000, point.F})
		}
		found = append(found, series{Labels: one.Metric.Map(), Points: points})
	}
	return found, nil
}

func moment(seconds float64) time.Time { return time.UnixMilli(int64(seconds * 1000)) }

func seconds(number float64) time.Duration { return time.Duration(number * float64(time.Second)) }

// history is a storage that is read only.
type history []series

func (all history) Querier(_, _ int64) (storage.Querier, error) { return all, nil }

func (history) LabelValues(
	context.Context, string, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (history) LabelNames(
	context.Context, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (history) Close() error { return nil }

func (all history) Select(
	_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	var found []storage.Series
	for _, one := range all {
		set := labels.FromMap(one.Labels)
		if !matches(set, matchers) {
			continue
		}
		samples := make([]chunks.Sample, 0, len(one.Points))
		for _, point := range one.Points {
			samples = append(samples, sample{int64(point[0] * 1000), point[1]})
		}
		found = append(found, storage.NewListSeries(set, samples))
	}
	sort.Slice(found, func(a, b int) bool { return labels.Compare(found[a].Labels(), found[b].Labels()) < 0 })
	return &set{found: found, next: -1}
}

func matches(found labels.Labels, matchers []*labels.Matcher) bool {
	for _, one := range matchers {
		if !one.Matches(found.Get(one.Name)) {
			return false
		}
	}
	return true
}

type set struct {
	found []storage.Series
	next  int
}

func (s *set) Next() bool                      { s.next++; return s.next < len(s.found) }
func (s *set) At() storage.Series              { return s.found[s.next] }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }

type sample struct {
	millis int64
	value  float64
}

func (s sample) T() int64                    { return s.millis }
func (s sample) F() float64                  { return s.value }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }
