"""The custom resources as typed models; `crds/` is generated from them."""
