// Runs a gateway in its own process, which counts its statements, promises and writes.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Simulation } from '@postern/simulation'
import { openForkedGateway } from '../setup/forked-gateway.ts'
import type { CountsAnswer } from './counter.ts'
import type { CountingProxy } from './counting-proxy.ts'
import { chatTokenHash } from './requests.ts'

const counter = new URL('./counter.ts', import.meta.url).href
const findAgent = (name: string) => ({ use: join(import.meta.dirname, `../agents/counted/${name}.ts`) })
const outOfReach = 1_000_000_000

/** The counts since the start of the process. */
export interface ProcessCounts extends CountsAnswer {
  /** The number of times that it has waited for a PostgreSQL server. */
  readonly rounds: number
  /** The number of its agents' posts that reached a peer. */
  readonly arrivals: number
}

/** `postern start` in a process of its own that counts; its peers are in this process and are not counted. */
export interface CountedProcess {
  readonly simulation: Simulation
  readonly port: number
  readCounts(): Promise<ProcessCounts>
  /** Starts a new SQLite log. Must not be called while messages are in progress. */
  emptyLog(): Promise<void>
  /** Returns the size of its log and files. */
  readBytes(): number
  close(): Promise<void>
}

interface PostgresStore {
  /** The address of the database, through the counted wire. */
  readonly url: string
  readonly wire: CountingProxy
}

/** Opens the process. @param postgres the store of its data; absent for a file of its own */
export async function openCountedProcess(postgres?: PostgresStore): Promise<CountedProcess> {
  const { simulation, directory, port, child, close } = await openForkedGateway(counter, {
    ...(postgres && { store: postgres.url }),
    agents: { silent: findAgent('silent'), brief: findAgent('brief') },
    web: {
      enabled: true,
      trace: false,
      auth: { tokens: [{ name: 'ann', sha256: chatTokenHash }] },
      limits: { runs_per_owner: outOfReach },
    },
  })
  return {
    simulation,
    port,
    async readCounts() {
      const arrivals = simulation.fediverse.received.length
      return { ...(await requestCounts(child, 'read')), rounds: postgres?.wire.readRounds() ?? 0, arrivals }
    },
    emptyLog: async () => void (await requestCounts(child, 'empty')),
    readBytes: () => sumSizes(directory),
    close,
  }
}

async function requestCounts(child: ChildProcess, request: 'read' | 'empty'): Promise<CountsAnswer> {
  const answer = once(child, 'message')
  child.send(request)
  const [counts] = (await answer) as [CountsAnswer]
  return counts
}

/** Sums up everything that is written at once. The database file itself is written from the log, later and for many messages together. */
function sumSizes(directory: string): number {
  const files = globSync('**/*', { cwd: directory }).filter(name => !/\.db(-shm)?$/.test(name))
  const sizes = files.map(name => statSync(join(directory, name), { throwIfNoEntry: false }))
  return sizes.reduce((sum, stats) => sum + (stats?.isFile() ? stats.size : 0), 0)
}
