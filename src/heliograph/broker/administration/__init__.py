"""What operators see and change: the operations of the management node, and the figures in `$SYS`."""
