"""Presets of tabular learners: `paper` prints alpha 1e-5 and 0.005, `tuned` knows the worlds."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from errands.errors import ConfigError, StoreError, TaskError, UnknownName
from errands.learners import LEARNERS, make_learner
from errands.learners.hrm.settings import HRMConfig
from errands.learners.presets import CUSTOM, PRESETS, as_document, config_of, stored_config
from errands.learners.qcorm.settings import QCoRMConfig
from errands.learners.qrm.settings import QRMConfig
from errands.tasks import Task, load

FIGURE = load("figure-1")
SLIP = Task.from_toml(FIGURE.text.replace('removed = ["b1", "b2"]', 'removed = ["b1", "b2"]\nslip = 0.1'))


def test_the_paper_prints_its_rates() -> None:
    for name in ("qrm", "crm"):
        assert config_of(name, "paper", FIGURE) == QRMConfig(alpha=1e-5)
    assert config_of("hrm", "paper", FIGURE) == HRMConfig(alpha=1e-5, alpha_controller=1e-5)
    assert config_of("qcorm", "paper", FIGURE) == QCoRMConfig(alpha=1e-5, alpha_eta=0.005, alpha_k=0.005)
    assert config_of("qcorm-0", "paper", FIGURE) == QCoRMConfig(alpha=1e-5, alpha_eta=0.005, alpha_k=0.005, joint=False)


def test_tuned_learns_at_once_where_moves_are_certain_and_slowly_where_they_slip() -> None:
    certain, random = (config_of("crm", "tuned", task) for task in (FIGURE, SLIP))
    assert isinstance(certain, QRMConfig)
    assert isinstance(random, QRMConfig)
    assert (certain.alpha, random.alpha) == (1.0, 0.1)


def test_many_starts_alone_do_not_make_moves_random() -> None:
    taxi = Task.from_env("Taxi-v4", {"red": list(range(16))}, "red")
    assert taxi.finite is not None
    assert (len(taxi.finite.table.starts), taxi.certain) == (300, False)
    assert config_of("crm", "tuned", taxi).alpha == 1.0


def test_scout_is_not_evaluated_more_than_it_learns_where_evaluations_are_episodes_of_an_environment() -> None:
    cart = Task.from_env("CartPole-v1", {"left": {"index": 0, "below": -1.0}}, "left", state=lambda seen: round(float(seen[0]), 1))
    assert cart.finite is None
    assert config_of("scout", "tuned", cart).eval_every == 1_000
    assert config_of("scout", "tuned", FIGURE).eval_every == 50


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_can_be_made_with_every_preset(learner: str, preset: str) -> None:
    method = LEARNERS[learner]
    task = load("letters") if method.tabular and method.tabular.networks else FIGURE
    assert make_learner(task, learner, 0, preset=preset).config == config_of(learner, preset, task)


def test_settings_go_on_top_of_a_preset_as_words_and_as_values() -> None:
    tuned = config_of("crm", "tuned", FIGURE)
    for settings in (["epsilon=0.4"], {"epsilon": 0.4}):
        assert config_of("crm", "tuned", FIGURE, settings) == replace(tuned, epsilon=0.4)  # type: ignore[call-arg]
    assert make_learner(FIGURE, "crm", settings={"epsilon": 0.4}).config == replace(tuned, epsilon=0.4)  # type: ignore[call-arg]


def test_stored_settings_are_read_back_whole_and_others_are_told_as_those_of_another_version() -> None:
    own = QRMConfig(alpha=0.3, epsilon=0.7)
    assert stored_config("crm", FIGURE, as_document(own)) == own
    with pytest.raises(StoreError, match=r"another version.*that version knows a setting 'epsilon_end' of 'crm' that this"):
        stored_config("crm", FIGURE, {**as_document(own), "epsilon_end": 0.1})
    with pytest.raises(StoreError, match=r"another version.*this version knows a setting 'gamma' of 'crm' that that one"):
        stored_config("crm", FIGURE, {name: value for name, value in as_document(own).items() if name != "gamma"})
    with pytest.raises(UnknownName, match="custom"):
        config_of("crm", CUSTOM, FIGURE)
    with pytest.raises(ConfigError, match="both config and settings"):
        make_learner(FIGURE, "crm", config=own, settings={"epsilon": 0.4})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("learner", LEARNERS)
def test_no_setting_is_infinite_or_no_number(learner: str, value: float) -> None:
    config = config_of(learner, "tuned", FIGURE)
    for name in [f.name for f in fields(config) if isinstance(getattr(config, f.name), float)]:
        with pytest.raises(ConfigError, match=name):
            replace(config, **{name: value})


@pytest.mark.parametrize("name", ["alpha_controller", "epsilon_controller", "option_limit", "full_reward"])
def test_senseless_settings_of_hrms_controller_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        HRMConfig(**{name: -1})  # type: ignore[arg-type]


def test_presets_ask_the_action_space_and_not_the_name_of_the_world() -> None:
    """Pendulum's actions are continuous, CartPole's are not: the numbers of TD3 and of DDQN."""
    pytest.importorskip("jax")
    text = 'name = "x"\n[world]\nkind = "gymnasium"\nid = "ID"\nfeatures = { up = { index = 0, above = 0.9 } }\n'
    text += '[machine]\nphrase = "up"\n'
    pendulum, cart = (Task.from_toml(text.replace("ID", name)) for name in ("Pendulum-v1", "CartPole-v1"))
    assert (pendulum.world.continuous_actions, cart.world.continuous_actions) == (True, False)
    for preset in PRESETS:
        for learner in ("qrm", "qcorm", "dirl"):
            td3, ddqn = (config_of(learner, preset, task) for task in (pendulum, cart))
            if preset == "tuned" and learner != "dirl":
                assert (td3.alpha, ddqn.alpha) == (3e-4, 5e-4)  # type: ignore[attr-defined]
                continue  # on worlds of the catalogue these know more than the action space
            assert td3.batch == 256  # type: ignore[attr-defined]
            assert ddqn.batch < 256  # type: ignore[attr-defined]
            # The paper's numbers are those of its own worlds of either kind, but for what a task pays.
            paid = dict.fromkeys(("full_reward", "min_step_reward"))
            for ours, theirs in ((td3, "cheetah-bcd"), (ddqn, "water-2")):
                assert as_document(ours) | paid == as_document(config_of(learner, preset, load(theirs))) | paid


def test_exploration_on_users_environments_is_a_share_of_the_asked_steps_with_a_floor() -> None:
    pytest.importorskip("jax")
    from errands.runs.request import Request

    task = Task.from_env("CartPole-v1", {"right": {"index": 0, "above": 0.5}}, "right")
    asked = {steps: Request.of(task, "crm", steps=steps).config for steps in (2_000, 40_000, 100_000)}
    shares = {2_000: 8_000, 40_000: 16_000, 100_000: 40_000}
    assert {n: config.epsilon for n, config in asked.items()} == {n: f"1.0..0.05@0,{end}" for n, end in shares.items()}  # type: ignore[attr-defined]
    own = Request.of(task, "crm", steps=40_000, settings=["epsilon=0.3"]).config
    assert own.epsilon == 0.3  # type: ignore[attr-defined]


def test_what_is_not_known_or_does_not_fit_is_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'paper'"):
        config_of("crm", "papers", FIGURE)
    with pytest.raises(UnknownName, match="did you mean 'qcorm'"):
        config_of("qcom", "tuned", FIGURE)
    with pytest.raises(TaskError, match="learner 'scout' cannot be run on the continuous world of 'water-2'"):
        config_of("scout", "tuned", load("water-2"))
