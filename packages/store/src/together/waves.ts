interface Touching {
  /**
   * Names of what an operation reads and changes: it may run beside others that name none of them. Nothing runs beside one without names.
   */
  readonly names?: readonly string[] | undefined
  /** It runs behind all others, by itself, and finds what they have written. */
  readonly isLast?: boolean | undefined
}

export interface WaveMember<T> {
  readonly member: T
  readonly names: readonly string[]
}

/** Puts operations in waves. Those of one wave touch nothing in common; of two that do, the earlier is in an earlier wave. */
export function planWaves<T extends Touching>(operations: readonly T[]): readonly (readonly WaveMember<T>[])[] {
  const waves: WaveMember<T>[][] = []
  /** The last wave that touches it. */
  const last = new Map<string, number>()
  let first = 0
  for (const member of operations) {
    const { names } = member
    const at =
      names && !member.isLast ? Math.max(first, ...names.map(name => (last.get(name) ?? -1) + 1)) : waves.length
    const wave = waves[at] ?? []
    waves[at] = wave
    wave.push({ member, names: names ?? [] })
    if (!names) first = waves.length
    for (const name of names ?? []) last.set(name, at)
  }
  return waves
}
