"""QCoRM+ (ours): memory, values, plan, loop, in the order in which to read them."""
