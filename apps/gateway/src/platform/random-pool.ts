import { randomBytes } from 'node:crypto'

const poolBytes = 4_096
/** What is larger is made for itself. */
const mostPooled = 64

/**
 * Random bytes from the operating system's generator, fetched many at a time: ids take 16 bytes each, and asking for them costs
 * more than they do. What was handed out is wiped from the pool.
 */
export function createRandomPool(fill: (count: number) => Uint8Array = randomBytes): (count: number) => Uint8Array {
  let pool: Uint8Array = new Uint8Array()
  let at = 0
  return count => {
    if (count > mostPooled) return fill(count)
    if (at + count > pool.length) {
      pool = fill(poolBytes)
      at = 0
    }
    // A copy: `slice` of a Buffer is none.
    const taken = new Uint8Array(pool.subarray(at, at + count))
    pool.fill(0, at, at + count)
    at += count
    return taken
  }
}
