"""What `import errands` gives: each name with its home, for type checkers and for `__init__.py`, which reads this file."""

from errands.errors import ConfigError as ConfigError
from errands.errors import ErrandsError as ErrandsError
from errands.errors import SpecError as SpecError
from errands.errors import StoreError as StoreError
from errands.errors import TaskError as TaskError
from errands.errors import UnknownName as UnknownName
from errands.features import Change as Change
from errands.learners import register as register
from errands.learners.base import LearnerConfig as LearnerConfig
from errands.machines import AgendaRM as AgendaRM
from errands.machines import BooleanRM as BooleanRM
from errands.machines import CoupledRM as CoupledRM
from errands.machines import Label as Label
from errands.machines import NumericRM as NumericRM
from errands.machines import Outcome as Outcome
from errands.machines import Sizes as Sizes
from errands.machines import couple as couple
from errands.machines import size as size
from errands.machines import unfold_agenda as unfold_agenda
from errands.machines import unfold_boolean as unfold_boolean
from errands.machines.lower import lower as lower
from errands.machines.multiagent_rm import from_multiagent_rm as from_multiagent_rm
from errands.machines.pycrm import from_pycrm as from_pycrm
from errands.oracle.certificate import Certificate as Certificate
from errands.oracle.certificate import certificate as certificate
from errands.oracle.optimum import Optimum as Optimum
from errands.oracle.optimum import optimum as optimum
from errands.policies.file import read_policy as read_policy
from errands.runs.run import Run as Run
from errands.runs.run import open as open  # noqa: A004
from errands.runs.run import resume as resume
from errands.runs.run import train as train
from errands.runs.run import training as training
from errands.runs.watch import RunSoFar as RunSoFar
from errands.runs.watch import StopAtEpsilon as StopAtEpsilon
from errands.runs.watch import StopOnPlateau as StopOnPlateau
from errands.runs.watch import StopOnSuccess as StopOnSuccess
from errands.runs.watch import StopWhenOptimal as StopWhenOptimal
from errands.tables import Evaluation as Evaluation
from errands.tasks import Task as Task
from errands.tasks import load as load
from errands.tasks.ltlf import from_ltlf as from_ltlf
from errands.tasks.phrases import any_order as any_order
from errands.tasks.phrases import at_most as at_most
from errands.tasks.phrases import avoid as avoid
from errands.tasks.phrases import budget as budget
from errands.tasks.phrases import either as either
from errands.tasks.phrases import repeat as repeat
from errands.tasks.phrases import sequence as sequence
from errands.tasks.phrases import toll as toll
from errands.tasks.phrases import within as within
from errands.tasks.product import RewardMachineReplay as RewardMachineReplay
from errands.tasks.product import product as product
from errands.worlds.gymnasium.joint import joint as joint
from errands.worlds.imports import allow as allow

__version__: str
__all__: list[str]
