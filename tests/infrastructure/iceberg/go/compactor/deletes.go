package main

import (
	"context"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/table/compaction"
)

// deadDeletes are the equality-delete files that nothing needs once the plan is carried out.
func deadDeletes(ctx context.Context, opened *table.Table, plan compaction.Plan) ([]iceberg.DataFile, error) {
	snapshot := opened.CurrentSnapshot()
	if snapshot == nil {
		return nil, nil
	}
	files, err := opened.FS(ctx)
	if err != nil {
		return nil, err
	}
	rewritten := map[string]struct{}{}
	for _, group := range plan.Groups {
		for _, task := range group.Tasks {
			rewritten[task.File.FilePath()] = struct{}{}
		}
	}
	return compaction.CollectDeadEqualityDeletesWithSpecs(ctx, files, opened.Metadata(), snapshot, rewritten)
}
