"""The starter imports numpy first, for the threads that it brings."""
