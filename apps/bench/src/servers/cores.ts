// Pins processes to cores of the machine with `taskset`.
import { spawnSync } from 'node:child_process'
import { availableParallelism, cpus } from 'node:os'

/** The core that the measured server gets to itself, and the one for everything else. */
export interface Cores {
  readonly server: number
  readonly load: number
}

/** Finds two cores. Returns undefined without `taskset` or with only one core; the operating system then decides. */
export function findCores(): Cores | undefined {
  const hasTaskset = spawnSync('taskset', ['--version']).status === 0
  return hasTaskset && availableParallelism() > 1 ? { server: 0, load: 1 } : undefined
}

/** Returns the command that keeps a process to one core with all its threads. */
export function pinCommand(command: readonly string[], core: number | undefined): readonly string[] {
  return core === undefined ? command : ['taskset', '-c', String(core), ...command]
}

/** Pins the main thread of this process to one core. Its thread pool stays free, because it signs between the rounds. */
export function pinThisThread(core: number): void {
  spawnSync('taskset', ['-pc', String(core), String(process.pid)])
}

/** Lets the main thread use all cores again, along with the processes that it starts from then on. */
export function freeThisThread(): void {
  spawnSync('taskset', ['-pc', `0-${cpus().length - 1}`, String(process.pid)])
}
