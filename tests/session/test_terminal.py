"""What pytest's terminal reporter shows beside our section."""


def test_the_section_stands_before_the_short_summary(project):
    project.rollouts([[0.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    project.run().stdout.fnmatch_lines(
        ["*= benchmarks =*", "*= short test summary info =*", "FAILED *"]
    )


def test_a_run_without_benchmarks_has_no_section(project):
    project.write("test_plain.py", "def test_plain(): pass\n")
    project.run().stdout.no_fnmatch_line("*= benchmarks =*")


def test_other_warnings_are_still_shown(project):
    project.rollouts([[1.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    project.write(
        "test_plain.py", "import warnings\ndef test_plain(): warnings.warn('of mine')\n"
    )
    result = project.run("-W", "default")
    result.stdout.fnmatch_lines(["*= warnings summary =*", "*of mine*"])
