"""What is sent: recordings, their timing, the streaming client and the replay process."""
