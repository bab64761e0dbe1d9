/** A source of random values that are the same for the same seed, so that a failure can be repeated. */
export interface Dice {
  /** Returns an integer from 0 to `sides` − 1. */
  roll(sides: number): number
  /** Returns true once in n times on average. */
  oneIn(n: number): boolean
  pick<Item>(list: readonly Item[]): Item
  /** Returns a name that it has not returned before. */
  createName(): string
}

/** Creates dice by the algorithm Mulberry32. */
export function createDice(seed: number): Dice {
  let state = Math.imul(seed, 2_654_435_761)
  let nameCount = 0
  const roll = (sides: number) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * sides)
  }
  return {
    roll,
    oneIn: n => roll(n) === 0,
    pick<Item>(list: readonly Item[]): Item {
      return list[roll(list.length)] as Item
    },
    createName() {
      nameCount += 1
      return `${seed}.${nameCount}`
    },
  }
}
