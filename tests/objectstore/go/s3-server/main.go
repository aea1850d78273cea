// versitygw's S3 gateway over a folder, as a package of this module, so that go.mod pins what the tests run.
//
//	s3-server --listen 127.0.0.1:7070 [--log FILE] FOLDER
//
// Buckets are the folder's folders, objects their files. The keys come from ROOT_ACCESS_KEY and ROOT_SECRET_KEY.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

const (
	most      = 4096
	mostParts = 10000
)

func main() {
	listen := flag.String("listen", "127.0.0.1:7070", "address and port")
	requests := flag.String("log", "", "file to write a line a request to")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("name the folder that holds the buckets")
	}
	// The gateway makes the folder its working directory, so paths of our own come first.
	folder := flag.Arg(0)
	store, err := posix.New(folder, meta.XattrMeta{}, posix.PosixOpts{ValidateBucketNames: true})
	if err != nil {
		log.Fatal(err)
	}
	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err = embedgw.RunVersityGW(ended, store, &embedgw.Config{
		RootUserAccess:    os.Getenv("ROOT_ACCESS_KEY"),
		RootUserSecret:    os.Getenv("ROOT_SECRET_KEY"),
		Region:            "us-east-1",
		Ports:             []string{*listen},
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
