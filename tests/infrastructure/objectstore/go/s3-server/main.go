// versitygw's S3 gateway over a folder, as a package of this module, so that go.mod pins what the tests run.
//
//	s3-server --listen 127.0.0.1:7070 [--log FILE] [--oss] FOLDER
//
// With --oss it takes conditions as Alibaba Cloud OSS does, see oss.go.
//
// Buckets are the folder's folders, objects their files. The keys come from ROOT_ACCESS_KEY and ROOT_SECRET_KEY.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

const (
	most      = 4096
	mostParts = 10000
	etag      = "etag"
)

// attributes gives an ETag to files that were put into the folder by others: without one the gateway takes them
// for absent when a request says If-None-Match.
type attributes struct{ meta.XattrMeta }

func (a attributes) RetrieveAttribute(f *os.File, bucket, object, name string) ([]byte, error) {
	value, err := a.XattrMeta.RetrieveAttribute(f, bucket, object, name)
	if name != etag || !errors.Is(err, meta.ErrNoSuchKey) {
		return value, err
	}
	found, statErr := os.Stat(filepath.Join(bucket, object))
	if statErr != nil || !found.Mode().IsRegular() {
		return value, err
	}
	return fmt.Appendf(nil, `"%x-%x"`, found.Size(), found.ModTime().UnixNano()), nil
}

func main() {
	listen := flag.String("listen", "127.0.0.1:7070", "address and port")
	requests := flag.String("log", "", "file to write a line a request to")
	speaksOSS := flag.Bool("oss", false, "take conditions as Alibaba Cloud OSS does")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("name the folder that holds the buckets")
	}
	store, err := posix.New(flag.Arg(0), attributes{}, posix.PosixOpts{ValidateBucketNames: true})
	if err != nil {
		log.Fatal(err)
	}
	address := *listen
	if *speaksOSS {
		address = fmt.Sprintf("@lithify-s3-server-%d", os.Getpid())
		go func() { log.Fatal(serveOSS(*listen, address)) }()
	}
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err = embedgw.RunVersityGW(ended, store, &embedgw.Config{
		RootUserAccess:    os.Getenv("ROOT_ACCESS_KEY"),
		RootUserSecret:    os.Getenv("ROOT_SECRET_KEY"),
		Region:            "us-east-1",
		Ports:             []string{address},
		MaxConnections:    most,
		MaxRequests:       most,
		MultipartMaxParts: mostParts,
		KeepAlive:         true,
		Quiet:             true,
		HealthPath:        "/healthz",
		AccessLog:         *requests,
	})
	if err != nil {
		log.Fatal(err)
	}
}
