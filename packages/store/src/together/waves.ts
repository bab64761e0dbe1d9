export interface Touching {
  /** Names of what an operation reads and changes: it may run beside others that name none of them. Absent: nothing runs beside it. */
  readonly touches?: readonly string[] | undefined
}

/** Puts operations in waves. Those of one wave touch nothing in common; of two that do, the earlier is in an earlier wave. */
export function planWaves<T extends Touching>(operations: readonly T[]): readonly (readonly T[])[] {
  const waves: T[][] = []
  /** The last wave that touches it. */
  const last = new Map<string, number>()
  let first = 0
  for (const operation of operations) {
    const { touches } = operation
    const at = touches ? Math.max(first, ...touches.map(name => (last.get(name) ?? -1) + 1)) : waves.length
    const wave = waves[at]
    if (wave) wave.push(operation)
    else waves.push([operation])
    if (!touches) first = waves.length
    for (const name of touches ?? []) last.set(name, at)
  }
  return waves
}
