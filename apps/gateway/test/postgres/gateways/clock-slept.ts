// Makes its process treat each SIGCONT as the end of 200 seconds in which its machine slept; it must be loaded first. With `?paused`, none of its
// clocks ran in that time.
let sleptMs = 0
const passed = performance.now.bind(performance)
performance.now = () => passed() - sleptMs
const { now } = Date
if (import.meta.url.endsWith('?paused')) Date.now = () => now() - sleptMs
process.on('SIGCONT', () => {
  sleptMs += 200_000
})
