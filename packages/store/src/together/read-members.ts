/** Deeper there is only what peers and agents wrote. */
const deepest = 4

/**
 * Members that are read when somebody looks at them: raw bytes, what was said in a task. Where the database is far they are read before anybody
 * can look; each remembers what it has read.
 */
export function listUnreadMembers(value: unknown): readonly (() => unknown)[] {
  const readings: (() => unknown)[] = []
  collect(value, readings, deepest)
  return readings
}

function collect(value: unknown, readings: (() => unknown)[], depth: number): void {
  if (typeof value !== 'object' || value === null || depth === 0 || ArrayBuffer.isView(value)) return
  if (Array.isArray(value)) {
    for (const each of value) collect(each, readings, depth - 1)
    return
  }
  for (const name of Object.keys(value)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, name)
    if (descriptor?.get) readings.push(() => (value as Readonly<Record<string, unknown>>)[name])
    else collect(descriptor?.value, readings, depth - 1)
  }
}
