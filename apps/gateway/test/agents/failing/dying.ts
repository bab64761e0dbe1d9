// Kills its process once, at the step of the first message's transaction that a file names.
import { appendFileSync, existsSync, readFileSync, unlinkSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import type { Agent } from '@postern/pipeline'

/** The steps of a transaction in which the process may die. */
export type CrashPoint = 'before the agent answers' | 'between its answer and the flush' | 'before the commit'

/** Writes the name of each run's message to a file, because memory does not outlive the process. */
export const handle: Agent['handle'] = ({ id }) => {
  const directory = process.env.DYING_DIRECTORY ?? ''
  appendFileSync(join(directory, 'runs'), `${id}\n`)
  const step = takeStep(join(directory, 'step'))
  if (step) die[step]()
  return 'answered'
}

function takeStep(file: string): CrashPoint | undefined {
  if (!existsSync(file)) return undefined
  const step = readFileSync(file, 'utf8') as CrashPoint
  unlinkSync(file)
  return step
}

const killSelf = () => process.kill(process.pid, 'SIGKILL')

const die: Readonly<Record<CrashPoint, () => void>> = {
  'before the agent answers': killSelf,
  'between its answer and the flush': () => queueMicrotask(killSelf),
  'before the commit'() {
    const { run } = StatementSync.prototype
    StatementSync.prototype.run = function (this: StatementSync, ...values: Parameters<typeof run>) {
      if (this.sourceSQL === 'COMMIT') killSelf()
      return run.apply(this, values)
    } as typeof run
    // The answer and the commit leave together for PostgreSQL.
    const port = Number(process.env.DYING_SERVER_PORT)
    const { write } = Socket.prototype
    Socket.prototype.write = function (this: Socket, ...args: Parameters<typeof write>) {
      if (this.remotePort === port) killSelf()
      return write.apply(this, args)
    } as typeof write
  },
}
