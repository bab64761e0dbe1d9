// Formats instants as ISO 8601.

let lastTime = { ms: 0, text: new Date(0).toISOString() }

/** Each message needs the present time several times within one millisecond, so the last one is kept. */
export function isoTime(ms: number): string {
  if (ms !== lastTime.ms) lastTime = { ms, text: new Date(ms).toISOString() }
  return lastTime.text
}
