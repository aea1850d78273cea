// CoreDNS with the few plugins that a test cluster needs: names of services, and a way to ask whether it is ready.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	// The order in which plugins see a query; upstream generates a list of all of them.
	dnsserver.Directives = []string{"ready", "errors", "kubernetes"}
	coremain.Run()
}
