// Lists members of a result that read the database when accessed.
/** The deepest level that is searched. Below it there are only data of peers and agents. */
const deepest = 4

/**
 * Lists members that are read on first access, such as raw bytes or the entries of a task. With a remote database they are read before a caller can
 * access them, and each remembers its value.
 */
export function listUnreadMembers(value: unknown): readonly (() => unknown)[] {
  const readings: (() => unknown)[] = []
  collect(value, readings, deepest)
  return readings
}

function collect(value: unknown, readings: (() => unknown)[], depth: number): void {
  if (typeof value !== 'object' || value === null || depth === 0 || ArrayBuffer.isView(value)) return
  if (Array.isArray(value)) {
    for (const element of value) collect(element, readings, depth - 1)
    return
  }
  for (const name of Object.keys(value)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, name)
    if (descriptor?.get) readings.push(() => (value as Readonly<Record<string, unknown>>)[name])
    else collect(descriptor?.value, readings, depth - 1)
  }
}
