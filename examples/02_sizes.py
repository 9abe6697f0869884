"""How machines grow: all four sizes in closed form, checked against machines that are really built."""

import errands

print(f"{'boxes':>5} {'numeric':>8} {'Boolean':>16} {'agenda':>12} {'coupled':>14} {'policies':>9}")
for boxes in (1, 2, 3, 4, 6, 8, 12, 30):
    machine = errands.any_order(*(f"b{i + 1}" for i in range(boxes)), after="s")
    sizes = errands.size(machine)
    boolean = f"{sizes.boolean:,}" if sizes.boolean < 10**12 else f"{sizes.boolean:.1e}"
    print(f"{boxes:5} {len(machine):8} {boolean:>16} {sizes.agenda:12,} {sizes.coupled:14,} {sizes.policies:9}")
    if boxes <= 4:
        agenda = errands.unfold_agenda(machine)
        built = len(errands.unfold_boolean(machine)), len(agenda), len(errands.couple(agenda))
        assert built == (sizes.boolean, sizes.agenda, sizes.coupled)

print("Boolean states tell orders apart, agenda states only what remains; QCoRM learns one policy per objective.")
