// Formats instants as ISO 8601.

let lastTime = { ms: 0, text: new Date(0).toISOString() }

/** Returns a time in ms as ISO 8601 UTC. The last result is cached, because each message needs the current time several times within a millisecond. */
export function isoTime(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, text: new Date(ms).toISOString() }
  return lastTime.text
}
