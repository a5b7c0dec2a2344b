"""The one streaming HTTP/1.1 core: small, and made for exact time stamps (shared by replay and recording)."""
