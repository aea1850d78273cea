"""Table formats: one adapter package each, behind the Protocols of `protocol`; `registry` finds them."""
