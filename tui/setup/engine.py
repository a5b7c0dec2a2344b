"""The steps that need vtune's own packages, run by the virtualenv.

python -m tui.setup.engine flags|model PYTHON
"""

import sys

from tui.engine import flags, install, model_make
from tui.errors import VtuneError


def main(what: str, python: str) -> int:
    try:
        found = install.find(python)
        if what == "flags":
            known = flags.known_flags(found)
            print(f"vLLM {found.version} ({found.dist}) on {found.device}: {len(known)} flags")
        else:
            model_make.ensure("bundled:smollm2-135m", found, lambda line: print(line, flush=True))
    except VtuneError as error:
        print(f"{error.what}\nmend: {error.mend}")
        return int(error.code)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
