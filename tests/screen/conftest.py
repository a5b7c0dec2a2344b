import sys
from pathlib import Path

# The scenes and the pretended session are plain modules beside the tests.
sys.path.insert(0, str(Path(__file__).parent))
