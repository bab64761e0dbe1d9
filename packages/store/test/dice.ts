/** The same numbers for the same seed, so that what failed once fails again. */
export interface Dice {
  /** An integer from 0 to n − 1. */
  roll(n: number): number
  /** Once in n times. */
  oneIn(n: number): boolean
  pick<Item>(list: readonly Item[]): Item
  /** Never the same twice. */
  name(): string
}

/** Mulberry32. */
export function createDice(seed: number): Dice {
  let state = Math.imul(seed, 2_654_435_761)
  let names = 0
  const roll = (n: number) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * n)
  }
  return {
    roll,
    oneIn: n => roll(n) === 0,
    pick<Item>(list: readonly Item[]): Item {
      return list[roll(list.length)] as Item
    },
    name() {
      names += 1
      return `${seed}.${names}`
    },
  }
}
