// The program reader writes the rows of an Iceberg table, as iceberg-go reads them, to an Arrow stream.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/iceberg-go/table"

	"lithify.dev/tests/iceberg/opening"
)

type wanted struct {
	out, ref string
	snapshot int64
	lineage  bool
}

func main() {
	log.SetFlags(0)
	address, want := opening.Flags(), wanted{}
	flag.StringVar(&want.out, "out", "", "file to write")
	flag.StringVar(&want.ref, "ref", "", "branch or tag to read")
	flag.Int64Var(&want.snapshot, "snapshot", 0, "snapshot to read")
	flag.BoolVar(&want.lineage, "lineage", false, "read _row_id and _last_updated_sequence_number, too")
	flag.Parse()
	if err := run(context.Background(), address, want); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address *opening.Address, want wanted) error {
	opened, err := address.Open(ctx)
	if err != nil {
		return err
	}
	scan, err := scanOf(opened, want)
	if err != nil {
		return err
	}
	return errors.Join(write(ctx, scan, want.out), scan.Close())
}

func scanOf(opened *table.Table, want wanted) (*table.Scan, error) {
	options := []table.ScanOption{}
	if want.snapshot != 0 {
		options = append(options, table.WithSnapshotID(want.snapshot))
	}
	if want.lineage {
		options = append(options, table.WithRowLineage())
	}
	scan := opened.Scan(options...)
	if want.ref != "" {
		return scan.UseRef(want.ref)
	}
	return scan, nil
}

func write(ctx context.Context, scan *table.Scan, path string) error {
	schema, batches, err := scan.ToArrowRecords(ctx)
	if err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	writer := ipc.NewWriter(out, ipc.WithSchema(schema))
	for batch, err := range batches {
		if err != nil {
			return err
		}
		if err := writer.Write(batch); err != nil {
			return err
		}
		batch.Release()
	}
	return errors.Join(writer.Close(), out.Close())
}
