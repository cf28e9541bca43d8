"""`python -m gpukit.cli` is the `gpukit` command, too."""

from gpukit.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
