"""Widgets of the dashboard; each draws one part of a Snapshot."""
