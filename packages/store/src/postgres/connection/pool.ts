import type { LineOptions, PostgresLine } from './line.ts'
import { openLine } from './line.ts'

/** A connection, as long as a transaction holds it. */
export interface HeldLine extends Pick<PostgresLine, 'run'> {
  release(): void
}

/** Connections for transactions that run at a time. */
export interface LinePool {
  /** Waits until one is free. */
  hold(): Promise<HeldLine>
  close(): Promise<void>
}

/** For transactions that write at a time, and for what reads beside them. */
const poolSize = 4
/** With the one for hints. */
export const connectionsOfGateway = poolSize + 1

export function openLinePool(options: LineOptions): LinePool {
  const lines = Array.from({ length: poolSize }, () => openLine(options))
  const free = [...lines]
  const waiting: ((line: PostgresLine) => void)[] = []

  function release(line: PostgresLine): void {
    // One that is gone would fail all who wait, one after another; those that are there serve them.
    const isUsable = line.isThere() || !lines.some(each => each.isThere())
    const next = isUsable ? waiting.shift() : undefined
    if (next) next(line)
    else free.push(line)
  }

  /** The one that was used last knows most statements. One whose connection is gone serves nobody as long as another is there. */
  function takeFree(): PostgresLine | undefined {
    const at = free.findLastIndex(line => line.isThere())
    if (at >= 0) return free.splice(at, 1)[0]
    return lines.some(line => line.isThere()) ? undefined : free.pop()
  }

  return {
    async hold() {
      const line = takeFree() ?? (await new Promise<PostgresLine>(resolve => waiting.push(resolve)))
      return { run: line.run, release: () => release(line) }
    },
    async close() {
      await Promise.all(lines.map(line => line.close()))
    },
  }
}
