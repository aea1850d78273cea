"""What tests of the state machine of runs share: runs, a world around them, and what may happen there."""
