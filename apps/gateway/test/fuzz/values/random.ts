// Makes repeatable random values for the fuzzer.

/** Random choices. The same seed gives the same run. */
export interface Random {
  /** Returns an integer from 0 to `limit` - 1. */
  integerBelow(limit: number): number
  /** Returns true with this probability, 0 to 1. */
  chance(probability: number): boolean
  pick<Item>(items: readonly Item[]): Item
}

/** Creates a mulberry32 generator from a seed and an index in the run. */
export function createRandom(seed: number, index = 0): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integerBelow = (limit: number) => Math.floor(next() * limit)
  return {
    integerBelow,
    chance: probability => next() < probability,
    pick<Item>(items: readonly Item[]): Item {
      if (items.length === 0) throw new Error('nothing to pick from')
      return items[integerBelow(items.length)] as Item
    },
  }
}
