// Describes the machine and settings of a bench run, for the foot of its tables.
import { cpus, loadavg, totalmem } from 'node:os'
import type { Cores } from '../../servers/cores.ts'
import type { RoundsOptions } from '../rounds.ts'

/** Describes the circumstances of the figures, for the foot of every table. */
export function describeConditions(
  { rounds, seconds, warmUp }: Pick<RoundsOptions, 'rounds' | 'seconds' | 'warmUp'>,
  cores: Cores | undefined,
): string {
  const processors = cpus()
  const pinned = cores ? 'server on one core, load on another' : 'processes not kept to cores (no taskset, or one core)'
  return [
    `Taken with ${rounds} rounds of ${seconds} s after ${warmUp} messages, by turns, medians; ${pinned}.`,
    `Node ${process.version}, ${processors.length} × ${processors[0]?.model ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB;`,
    `load average at the end ${loadavg()[0]?.toFixed(1)}: well above 1 means that others were at work too.`,
  ].join(' ')
}
