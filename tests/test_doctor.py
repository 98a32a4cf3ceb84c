"""What `nanscope doctor` learns of torch, and that it needs none."""

import json
import subprocess
import sys

import torch

from nanscope import doctor


def test_facts_are_those_of_torch() -> None:
    facts = doctor.facts()
    assert facts["torch"] == torch.__version__
    settings = dict(facts["settings"])
    assert settings["deterministic algorithms"] == str(torch.are_deterministic_algorithms_enabled())
    assert settings["float32 matmul precision"] == torch.get_float32_matmul_precision()
    json.dumps(facts)


def test_the_command_asks_the_python_that_it_runs_in() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nanscope", "doctor", "--format", "json"], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    facts = json.loads(done.stdout)["facts"]
    assert facts["torch"]["torch"] == torch.__version__
    assert facts["torch"]["python"] == sys.version.split()[0]


def test_without_torch_it_says_so() -> None:
    hidden = "import sys; sys.modules['torch'] = None; import runpy; runpy.run_path(sys.argv[1], run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", hidden, doctor.__file__], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"python": sys.version.split()[0], "problems": []}
