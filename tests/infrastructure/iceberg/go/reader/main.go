// The program reader writes the rows of an Iceberg table, as iceberg-go reads them, to an Arrow stream.
//
// The table is given by its metadata (-metadata LOCATION), or by a REST catalog (-catalog URL -table db.t).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3"
	"github.com/apache/iceberg-go/table"
)

// properties are options given as key=value, several times.
type properties map[string]string

func (p properties) String() string { return fmt.Sprint(map[string]string(p)) }

func (p properties) Set(option string) error {
	key, value, found := strings.Cut(option, "=")
	if !found {
		return errors.New("not key=value")
	}
	p[key] = value
	return nil
}

type request struct {
	metadata, catalog, name, ref, out string
	snapshot                          int64
	lineage                           bool
	properties                        properties
}

func main() {
	log.SetFlags(0)
	asked := request{properties: properties{}}
	flag.StringVar(&asked.metadata, "metadata", "", "location of the table's metadata")
	flag.StringVar(&asked.catalog, "catalog", "", "URL of a REST catalog")
	flag.StringVar(&asked.name, "table", "", "the table's name in it, with dots")
	flag.StringVar(&asked.ref, "ref", "", "branch or tag to read")
	flag.Int64Var(&asked.snapshot, "snapshot", 0, "snapshot to read")
	flag.BoolVar(&asked.lineage, "lineage", false, "read _row_id and _last_updated_sequence_number, too")
	flag.StringVar(&asked.out, "out", "", "file to write")
	flag.Var(asked.properties, "p", "key=value, of the catalog and the files; may be repeated")
	flag.Parse()
	if err := run(context.Background(), asked); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, asked request) error {
	opened, err := open(ctx, asked)
	if err != nil {
		return err
	}
	scan, err := scanOf(opened, asked)
	if err != nil {
		return err
	}
	defer scan.Close()
	schema, batches, err := scan.ToArrowRecords(ctx)
	if err != nil {
		return err
	}
	out, err := os.Create(asked.out)
	if err != nil {
		return err
	}
	defer out.Close()
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

func open(ctx context.Context, asked request) (*table.Table, error) {
	if asked.metadata != "" {
		files := io.LoadFSFunc(asked.properties, asked.metadata)
		return table.NewFromLocation(ctx, table.Identifier{"table"}, asked.metadata, files, nil)
	}
	additional := rest.WithAdditionalProps(iceberg.Properties(asked.properties))
	catalog, err := rest.NewCatalog(ctx, "rest", asked.catalog, additional)
	if err != nil {
		return nil, err
	}
	return catalog.LoadTable(ctx, strings.Split(asked.name, "."))
}

func scanOf(opened *table.Table, asked request) (*table.Scan, error) {
	options := []table.ScanOption{}
	if asked.snapshot != 0 {
		options = append(options, table.WithSnapshotID(asked.snapshot))
	}
	if asked.lineage {
		options = append(options, table.WithRowLineage())
	}
	scan := opened.Scan(options...)
	if asked.ref != "" {
		return scan.UseRef(asked.ref)
	}
	return scan, nil
}
