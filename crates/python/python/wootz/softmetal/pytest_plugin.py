"""A pytest fixture for testing ``.metal`` files."""

import pytest


@pytest.fixture
def softmetal():
    """Runs kernels with the checker on, and fails the test immediately if it finds something.

    ``result = softmetal("kernels.metal", "name", array, …, grid=…)``; a path, or source text with a newline in it.
    """
    import pathlib

    from wootz import softmetal as module

    def run(source, kernel, /, *args, **options):
        if isinstance(source, str) and "\n" not in source and "{" not in source:
            source = pathlib.Path(source)
        result = module.run(source, kernel, *args, **options)
        if not result.ok:
            pytest.fail(f"{kernel}: {result.error}", pytrace=False)
        return result

    return run
