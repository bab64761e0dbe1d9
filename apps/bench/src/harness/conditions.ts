import { cpus, loadavg, totalmem } from 'node:os'
import type { Cores } from '../servers/process.ts'
import type { RoundsOptions } from './rounds.ts'

/** Under what circumstances the figures were taken; belongs under every table. */
export function describeConditions(
  { rounds, seconds }: Pick<RoundsOptions, 'rounds' | 'seconds'>,
  cores: Cores | undefined,
): string {
  const processors = cpus()
  const pinned = cores ? 'server on one core, load on another' : 'processes not kept to cores (no taskset, or one core)'
  return [
    `Taken with ${rounds} rounds of ${seconds} s, by turns, medians; ${pinned}.`,
    `Node ${process.version}, ${processors.length} × ${processors[0]?.model ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB;`,
    `load average at the end ${loadavg()[0]?.toFixed(1)}: well above 1 means that others were at work too.`,
  ].join(' ')
}
