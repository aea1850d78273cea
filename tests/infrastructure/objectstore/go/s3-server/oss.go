package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
)

const (
	condition  = "If-None-Match"
	ownHeader  = "X-Oss-Forbid-Overwrite"
	mostAtOnce = 256
)

// serveOSS stands before the gateway and speaks as Alibaba Cloud OSS documents it where that differs from S3: a PUT
// with If-None-Match is refused, one with x-oss-forbid-overwrite is answered by FileAlreadyExists if the name is
// taken, but not in a bucket with versioning, which here is one whose name begins with "versioned". Whether a name is
// taken is decided by the gateway, under its own lock; it checks the signature of all headers that were signed.
//
// It is no OSS: it knows the bucket in the path only, no security tokens, and nothing of OSS's own API.
func serveOSS(listen, gateway string) error {
	dialer := net.Dialer{}
	proxy := &httputil.ReverseProxy{
		Director: func(r *http.Request) {
			r.URL.Scheme, r.URL.Host = "http", r.Host
			r.Header["X-Forwarded-For"] = nil
			if r.Header.Get(ownHeader) == "true" && !strings.HasPrefix(r.URL.Path, "/versioned") {
				r.Header.Set(condition, "*")
			}
		},
		Transport: &http.Transport{
			DialContext: func(ended context.Context, _, _ string) (net.Conn, error) {
				return dialer.DialContext(ended, "unix", gateway)
			},
			DisableCompression:  true,
			MaxIdleConnsPerHost: mostAtOnce,
		},
		ModifyResponse: func(answer *http.Response) error {
			if answer.StatusCode == http.StatusPreconditionFailed && answer.Request.Method == http.MethodPut {
				answer.Body.Close()
				answer.StatusCode, answer.Status = http.StatusConflict, "409 Conflict"
				body := said("FileAlreadyExists")
				answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
				answer.Header.Set("Content-Length", fmt.Sprint(len(body)))
			}
			return nil
		},
	}
	return http.ListenAndServe(listen, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && r.Header.Get(condition) != "" {
			w.WriteHeader(http.StatusBadRequest)
			w.Write(said("NotImplemented"))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
}

func said(code string) []byte {
	return fmt.Appendf(nil, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code></Error>", code)
}
