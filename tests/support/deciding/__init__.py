"""What tests of the operator's decisions about tables share."""
