"""From a node with decided layouts to a kernel call: what operators and algorithms share."""
