import { spawnSync } from 'node:child_process'
import { availableParallelism, cpus } from 'node:os'

/** Which core the measured server gets to itself, and which one everything else keeps to. */
export interface Cores {
  readonly server: number
  readonly load: number
}

/** Undefined where there is no `taskset` or only one core: the operating system then decides. */
export function findCores(): Cores | undefined {
  const hasTaskset = spawnSync('taskset', ['--version']).status === 0
  return hasTaskset && availableParallelism() > 1 ? { server: 0, load: 1 } : undefined
}

/** The command, kept to one core with all its threads. */
export function pinCommand(command: readonly string[], core: number | undefined): readonly string[] {
  return core === undefined ? command : ['taskset', '-c', String(core), ...command]
}

/** Keeps the main thread of this process to one core. Its thread pool stays free: it signs between the rounds. */
export function pinThisThread(core: number): void {
  spawnSync('taskset', ['-pc', String(core), String(process.pid)])
}

/** Lets it go where it likes again, and with it what it starts from now on. */
export function freeThisThread(): void {
  spawnSync('taskset', ['-pc', `0-${cpus().length - 1}`, String(process.pid)])
}
