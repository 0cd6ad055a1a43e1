"""The command line: argument parsing, and one function per command."""

from aswd.utils.numpy_features import prefer_avx2

prefer_avx2()  # before numpy is imported: see there
