"""Message flows measured: the tests of a published report on such systems, run on ours (`make bench-flows`)."""
