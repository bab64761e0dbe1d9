// Sets the clock of its process 61 seconds ahead; it must be loaded first.
const { now } = Date
Date.now = () => now() + 61_000
