"""A first reward machine: written as transitions, said as a phrase, unfolded, and stepped through a trace."""

import errands

# Two parcels must be brought to a counter, one at a time, in any order. `p` counts those still to be fetched:
# p! nothing changed, p↓ one was fetched, p⤓ the last one was (or none is left).
written = errands.NumericRM.of(
    initial="empty",
    success=["done"],
    transitions=[
        "empty -> empty : p! ; 0",
        "empty -> loaded : p↓ | p⤓ ; 0",
        "loaded -> loaded : ~counter ; 0",
        "loaded -> empty : counter & p! ; 0",
        "loaded -> done : counter & p⤓ ; 1",
    ],
    numeric={"p": ["p1", "p2"]},
)
said = errands.any_order("p1", "p2", after="counter")

agenda = errands.unfold_agenda(said)
coupled = errands.couple(agenda)
print("agenda states: ", *agenda.labels)
print("coupled states:", *coupled.labels)

# A trace is one set of true features per step; features are positions, so a parcel may be passed while loaded.
trace = [{"p2"}, set(), {"p1"}, {"counter"}, {"p1"}, {"counter"}]
for kind, machine in (("written", written), ("phrase", said), ("agenda", agenda), ("coupled", coupled)):
    outcome = machine.run(trace)
    print(f"{kind:8} rewards {[int(r) for r in outcome.rewards]} success {outcome.success}")
