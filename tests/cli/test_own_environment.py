"""An environment of one's own, the warehouse of the examples, all by command: train, go on, evaluate the best, export it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from errands.cli import main
from errands.policies import file

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "warehouse"
SMALL = [word for name in ("width=32", "depth=1", "batch=16", "learn_every=4", "warmup=50", "platform=cpu", "eval_every=500")
         for word in ("--set", name)]  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("warehouse.py", "warehouse.toml"):
        shutil.copy(EXAMPLE / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "warehouse", raising=False)
    return tmp_path


def test_the_warehouse_goes_from_training_to_a_file_that_acts(capsys: pytest.CaptureFixture[str]) -> None:
    said = ["--import", "warehouse", "--quiet"]
    assert main(["train", "warehouse.toml", "crm", "--steps", "1000", "--name", "w", *SMALL, *said]) == 0
    assert "errands resume, with --steps 2000" in " ".join(capsys.readouterr().out.split())
    assert main(["resume", "w", "--steps", "2000", "--json", *said]) == 0
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert (row["steps"], row["final_episodes"]) == (2_000, 20)  # moves are random: twenty episodes, not one
    assert 0 <= row["final_success_low"] <= row["final_success"] <= row["final_success_high"] <= 1
    assert sum(row["diagnosis"]["ends"].values()) >= 2_000 // 200 if row["diagnosis"] else row["best"]
    assert main(["evaluate", "w", "--best", "--episodes", "30", "--json", *said]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["episodes"], told["exact"]) == (30, None)
    assert main(["export", "w", "--best", "--as", "policy", "--output", "w.safetensors", *said]) == 0
    capsys.readouterr()
    from warehouse import Warehouse, features

    agent, env = file.read_policy("w.safetensors"), Warehouse()
    observation, info = env.reset(seed=0)
    agent.reset(observation, {**info, "features": set()})
    for _ in range(10):
        action = agent.act(observation)
        before, (observation, _, _, _, info) = observation, env.step(action)
        agent.see(observation, {**info, "features": features(before, action, observation, info)})
    assert agent.remaining
