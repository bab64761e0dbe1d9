// Kills its process at the step of a message's transaction that a file names.
import { existsSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The steps from the insertion of a message to its acknowledgement. */
export type CrashPoint =
  | 'before the agent gets the message'
  | 'before the agent answers'
  | 'between its answer and the flush'
  | 'before the commit'
  | 'after the commit'

/** The ids of messages at which a process may die contain this text. */
export const mortalMark = 'killed'

/** Kills the process if the file names this step. The file of the same folder with the name `died` then holds the step. */
export function reachStep(step: CrashPoint): void {
  const directory = process.env.DYING_DIRECTORY ?? ''
  const file = join(directory, 'step')
  if (!existsSync(file) || readFileSync(file, 'utf8') !== step) return
  unlinkSync(file)
  writeFileSync(join(directory, 'died'), step)
  process.kill(process.pid, 'SIGKILL')
}
