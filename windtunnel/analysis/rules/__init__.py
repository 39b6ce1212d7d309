"""Rules of trust as code: each rule is a function from the evidence to its warnings."""
