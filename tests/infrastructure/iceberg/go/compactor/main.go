// The program compactor compacts a table of a REST catalog as `iceberg compact` does, and prints what it did.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"

	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/table/compaction"

	"lithify.dev/tests/iceberg/opening"
)

func main() {
	log.SetFlags(0)
	address := opening.Flags()
	target := flag.Int64("target", 0, "size of files to write; that of iceberg-go if 0")
	flag.Parse()
	if err := run(context.Background(), address, *target); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address *opening.Address, target int64) error {
	opened, err := address.Open(ctx)
	if err != nil {
		return err
	}
	plan, err := compaction.Analyze(ctx, opened, config(target))
	if err != nil {
		return err
	}
	transaction := opened.NewTransaction()
	options := table.RewriteDataFilesOptions{}
	options.ExtraDeleteFilesToRemove, err = deadDeletes(ctx, opened, plan)
	if err != nil {
		return err
	}
	result, err := transaction.RewriteDataFiles(ctx, groups(plan), options)
	if err != nil {
		return err
	}
	if _, err := transaction.Commit(ctx); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"groups":                   result.RewrittenGroups,
		"removed_files":            result.RemovedDataFiles,
		"added_files":              result.AddedDataFiles,
		"removed_position_deletes": result.RemovedPositionDeleteFiles,
		"removed_equality_deletes": result.RemovedEqualityDeleteFiles,
	})
}

// config has the command's ratios of other sizes to the target.
func config(target int64) compaction.Config {
	config := compaction.DefaultConfig()
	if target > 0 {
		config.TargetFileSizeBytes = target
		config.MinFileSizeBytes = target * 3 / 4
		config.MaxFileSizeBytes = target * 9 / 5
	}
	return config
}

func groups(plan compaction.Plan) []table.CompactionTaskGroup {
	groups := make([]table.CompactionTaskGroup, len(plan.Groups))
	for i, group := range plan.Groups {
		groups[i] = table.CompactionTaskGroup{
			PartitionKey:   group.PartitionKey,
			Tasks:          group.Tasks,
			TotalSizeBytes: group.TotalSizeBytes,
		}
	}
	return groups
}
