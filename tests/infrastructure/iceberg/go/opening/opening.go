// Package opening has what both programs share: which table is meant, and how it is opened.
package opening

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3"
	"github.com/apache/iceberg-go/table"
)

// Address is a table: by the location of its metadata, or by a REST catalog and its name in it.
type Address struct {
	metadata, catalog, name string
	properties              properties
}

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

// Flags declares the options that give a table; they are there once flag.Parse was called.
func Flags() *Address {
	address := &Address{properties: properties{}}
	flag.StringVar(&address.metadata, "metadata", "", "location of the table's metadata, which is read only")
	flag.StringVar(&address.catalog, "catalog", "", "URL of a REST catalog")
	flag.StringVar(&address.name, "table", "", "the table's name in it, with dots")
	flag.Var(address.properties, "p", "key=value, of the catalog and the files; may be repeated")
	return address
}

// Open loads the table.
func (a *Address) Open(ctx context.Context) (*table.Table, error) {
	if a.metadata != "" {
		files := io.LoadFSFunc(a.properties, a.metadata)
		return table.NewFromLocation(ctx, table.Identifier{"table"}, a.metadata, files, nil)
	}
	options := rest.WithAdditionalProps(iceberg.Properties(a.properties))
	catalog, err := rest.NewCatalog(ctx, "rest", a.catalog, options)
	if err != nil {
		return nil, err
	}
	return catalog.LoadTable(ctx, strings.Split(a.name, "."))
}
