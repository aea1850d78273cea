// fake-gcs-server with its objects in memory, for the tests.
//
// It speaks the JSON API of Google Cloud Storage, which Java's clients use. Lithify's client uses the XML API,
// of which fake-gcs-server has little: it ignores x-goog-if-generation-match there, and answers without error
// codes. So requests of the XML API are turned into those of the JSON API here. Whether a name is taken is
// decided by fake-gcs-server, under its own lock.
package main

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

type server struct {
	json  http.Handler
	token string

	lock    sync.Mutex
	uploads map[string]map[int][]byte
	begun   int
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	fake, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, PublicHost: *listen, ExternalURL: "http://" + *listen,
	})
	if err != nil {
		log.Fatal(err)
	}
	handler := &server{json: fake.HTTPHandler(), token: os.Getenv("ACCESS_TOKEN"), uploads: map[string]map[int][]byte{}}
	log.Fatal(http.ListenAndServe(*listen, handler))
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bucket, escaped, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	switch bucket {
	case "storage", "upload", "download", "batch", "_internal":
		s.json.ServeHTTP(w, r)
		return
	}
	key, err := url.PathUnescape(escaped)
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidURI")
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+s.token {
		refuse(w, http.StatusUnauthorized, "AuthenticationRequired")
		return
	}
	if s.ask(http.MethodGet, "/storage/v1/b/"+bucket, nil, nil).Code != http.StatusOK {
		refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	s.serve(w, r, bucket, key)
}

func (s *server) serve(w http.ResponseWriter, r *http.Request, bucket, key string) {
	query := r.URL.Query()
	switch {
	case key == "":
		s.list(w, query, bucket)
	case r.Method == http.MethodPost && query.Has("uploads"):
		s.begin(w, bucket, key)
	case query.Has("uploadId"):
		s.upload(w, r, query, bucket, key)
	case r.Method == http.MethodPut:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone, and what it sent is not whole
		}
		s.put(w, bucket, key, body, r.Header.Get("X-Goog-If-Generation-Match"))
	case r.Method == http.MethodDelete:
		s.pass(w, s.ask(http.MethodDelete, object("/storage/v1/b/", bucket, key), nil, nil))
	default:
		s.pass(w, s.ask(r.Method, object("/download/storage/v1/b/", bucket, key), r.Header, nil))
	}
}

// ask sends a request to the JSON API.
func (s *server) ask(method, target string, header http.Header, body []byte) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, target, bytes.NewReader(body))
	if header != nil {
		request.Header = header
	}
	answer := httptest.NewRecorder()
	s.json.ServeHTTP(answer, request)
	return answer
}

func object(api, bucket, key string) string {
	return api + bucket + "/o/" + url.PathEscape(key)
}

// pass hands an answer on; errors get the codes of the XML API.
func (s *server) pass(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	switch {
	case answer.Code == http.StatusNotFound:
		refuse(w, answer.Code, "NoSuchKey")
	case answer.Code == http.StatusPreconditionFailed:
		refuse(w, answer.Code, "PreconditionFailed")
	case answer.Code >= 400 && answer.Code != http.StatusRequestedRangeNotSatisfiable:
		refuse(w, answer.Code, "InvalidArgument")
	default:
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		w.Write(answer.Body.Bytes())
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml; charset=UTF-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version='1.0' encoding='UTF-8'?><Error><Code>%s</Code><Message>no</Message></Error>", code)
}

func (s *server) put(w http.ResponseWriter, bucket, key string, body []byte, match string) {
	query := url.Values{"uploadType": {"media"}, "name": {key}}
	if match != "" {
		query.Set("ifGenerationMatch", match)
	}
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	answer := s.ask(http.MethodPost, "/upload/storage/v1/b/"+bucket+"/o?"+query.Encode(), header, body)
	if answer.Code != http.StatusOK {
		s.pass(w, answer)
		return
	}
	var made struct{ Generation json.Number }
	json.Unmarshal(answer.Body.Bytes(), &made)
	w.Header().Set("ETag", tag(body))
	w.Header().Set("X-Goog-Generation", made.Generation.String())
}

func tag(body []byte) string {
	return fmt.Sprintf("\"%x\"", md5.Sum(body))
}

type listed struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Contents              []content
	CommonPrefixes        []prefix
	IsTruncated           bool
	NextContinuationToken string `xml:",omitempty"`
}

type content struct {
	Key, LastModified, ETag string
	Size                    json.Number
}

type prefix struct{ Prefix string }

func (s *server) list(w http.ResponseWriter, query url.Values, bucket string) {
	names := map[string]string{
		"prefix": "prefix", "delimiter": "delimiter", "continuation-token": "pageToken", "start-after": "startOffset",
	}
	asked := url.Values{"maxResults": {"1000"}}
	for name, value := range query {
		if renamed := names[name]; renamed != "" {
			asked[renamed] = value
		}
	}
	if query.Has("max-keys") {
		asked["maxResults"] = query["max-keys"]
	}
	answer := s.ask(http.MethodGet, "/storage/v1/b/"+bucket+"/o?"+asked.Encode(), nil, nil)
	if answer.Code != http.StatusOK {
		s.pass(w, answer)
		return
	}
	var found struct {
		Items []struct {
			Name, Updated, Etag string
			Size                json.Number
		}
		Prefixes      []string
		NextPageToken string
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &found); err != nil {
		refuse(w, http.StatusInternalServerError, "InternalError")
		return
	}
	result := listed{IsTruncated: found.NextPageToken != "", NextContinuationToken: found.NextPageToken}
	for _, each := range found.Items {
		result.Contents = append(result.Contents, content{each.Name, each.Updated, strconv.Quote(each.Etag), each.Size})
	}
	for _, each := range found.Prefixes {
		result.CommonPrefixes = append(result.CommonPrefixes, prefix{each})
	}
	xml.NewEncoder(w).Encode(result)
}

func (s *server) begin(w http.ResponseWriter, bucket, key string) {
	s.lock.Lock()
	s.begun++
	id := strconv.Itoa(s.begun)
	s.uploads[id] = map[int][]byte{}
	s.lock.Unlock()
	type started struct {
		XMLName               xml.Name `xml:"InitiateMultipartUploadResult"`
		Bucket, Key, UploadId string
	}
	xml.NewEncoder(w).Encode(started{Bucket: bucket, Key: key, UploadId: id})
}

func (s *server) upload(w http.ResponseWriter, r *http.Request, query url.Values, bucket, key string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.lock.Lock()
	parts, isThere := s.uploads[query.Get("uploadId")]
	number, _ := strconv.Atoi(query.Get("partNumber"))
	if isThere && r.Method == http.MethodPut {
		parts[number] = body
	} else {
		delete(s.uploads, query.Get("uploadId"))
	}
	s.lock.Unlock()
	switch {
	case !isThere:
		refuse(w, http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodPut:
		w.Header().Set("ETag", tag(body))
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		s.complete(w, parts, bucket, key)
	}
}

func (s *server) complete(w http.ResponseWriter, parts map[int][]byte, bucket, key string) {
	numbers := []int{}
	for number := range parts {
		numbers = append(numbers, number)
	}
	sort.Ints(numbers)
	whole := []byte{}
	for _, number := range numbers {
		whole = append(whole, parts[number]...)
	}
	answer := httptest.NewRecorder()
	s.put(answer, bucket, key, whole, "")
	if answer.Code != http.StatusOK {
		s.pass(w, answer)
		return
	}
	type completed struct {
		XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket, Key, ETag string
	}
	w.Header().Set("X-Goog-Generation", answer.Header().Get("X-Goog-Generation"))
	xml.NewEncoder(w).Encode(completed{Bucket: bucket, Key: key, ETag: answer.Header().Get("ETag")})
}
