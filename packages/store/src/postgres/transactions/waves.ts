// Groups operations that can run at the same time.
interface Touching {
  /** Names of what an operation reads and changes. It may run at the same time as operations that share none of them. Without names it runs alone. */
  readonly names?: readonly string[] | undefined
  /** True if it runs alone, after all others, and finds what they have written. */
  readonly isLast?: boolean | undefined
}

export interface WaveMember<T> {
  readonly member: T
  readonly names: readonly string[]
}

/** Groups operations in waves. Operations of one wave have no name in common. Of two with a common name, the earlier one is in an earlier wave. */
export function planWaves<T extends Touching>(operations: readonly T[]): readonly (readonly WaveMember<T>[])[] {
  const waves: WaveMember<T>[][] = []
  /** The last wave that uses each name. */
  const last = new Map<string, number>()
  let first = 0
  for (const member of operations) {
    const { names } = member
    const waveIndex =
      names && !member.isLast ? Math.max(first, ...names.map(name => (last.get(name) ?? -1) + 1)) : waves.length
    const wave = waves[waveIndex] ?? []
    waves[waveIndex] = wave
    wave.push({ member, names: names ?? [] })
    if (!names) first = waves.length
    for (const name of names ?? []) last.set(name, waveIndex)
  }
  return waves
}
