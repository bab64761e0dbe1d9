type ReadTogether = (readings: readonly (() => unknown)[]) => Promise<unknown>

/** Deeper there is only what peers and agents wrote. */
const deepest = 4

/**
 * What leaves this thread is copied, and with it members that are read when somebody looks at them: raw bytes, what was said in a task. They are
 * read here in one way for all values; each remembers what it has read. What fails does so again when it is copied.
 */
export async function readMembers(values: readonly unknown[], readTogether: ReadTogether): Promise<void> {
  const readings: (() => unknown)[] = []
  for (const value of values) collect(value, readings, deepest)
  if (readings.length === 0) return
  try {
    await readTogether(readings)
  } catch {
    // The database is away.
  }
}

function collect(value: unknown, readings: (() => unknown)[], depth: number): void {
  if (typeof value !== 'object' || value === null || depth === 0 || ArrayBuffer.isView(value)) return
  if (Array.isArray(value)) {
    for (const each of value) collect(each, readings, depth - 1)
    return
  }
  for (const name of Object.keys(value)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, name)
    if (descriptor?.get) readings.push(() => look(value, name))
    else collect(descriptor?.value, readings, depth - 1)
  }
}

function look(value: object, name: string): unknown {
  try {
    return (value as Readonly<Record<string, unknown>>)[name]
  } catch {
    return undefined
  }
}
