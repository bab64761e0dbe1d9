// Lists the programs whose start is measured: the gateway, its rivals and floors.
import { once } from 'node:events'
import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Aim } from '../aims/rows.ts'
import { rows } from '../aims/rows.ts'
import { pairWithEarlierCommit } from '../earlier/pairs.ts'
import type { EarlierTree } from '../harness/earlier-tree.ts'
import type { Contender } from '../harness/rounds.ts'
import { gatewayHost } from '../ours/open.ts'
import { startServer } from '../servers/process.ts'
import type { Usage } from '../servers/process-usage.ts'
import { readProcessUsage } from '../servers/process-usage.ts'
import { buildProgram, installedProgram, readPort, spawnProgram } from '../servers/program.ts'

/** A program that can be started until it listens. */
interface StartContender extends Partial<Aim> {
  readonly name: string
  readonly note: string
  /** The name of the starter that it is compared with. Absent for the first one. */
  readonly referenceName?: string
  start(): Promise<StartMeasurement>
}

const postern = new URL('../../../gateway/bin/postern.mjs', import.meta.url)
/** The folder of compiled code, which all starters keep between starts. */
const compileCache = join(tmpdir(), 'postern-bench-compile-cache')

interface ProgramContender extends Pick<StartContender, 'name' | 'note'> {
  /** The program. */
  readonly entry: URL
  readonly command: 'start' | 'dev'
  readonly requiredFiles?: readonly URL[]
}

/** Name of the starter that stands for the program of users. */
export const packagedName = 'postern start'

const packaged: readonly ProgramContender[] = [
  {
    name: packagedName,
    note: 'the npm package: the whole gateway with all channels, an agent, its store',
    entry: installedProgram,
    command: 'start',
  },
  {
    name: 'postern dev',
    note: 'the same with the simulation: a fediverse server, DNS, a mail domain, a token issuer',
    entry: installedProgram,
    command: 'dev',
  },
]

const programs: readonly ProgramContender[] = [
  { name: 'start from sources', note: 'a clone of the project', entry: postern, command: 'start' },
  { name: 'dev from sources', note: 'the same with the simulation', entry: postern, command: 'dev' },
]

const rivals: readonly Pick<Contender, 'name' | 'note' | 'entry' | 'setup' | keyof Aim>[] = [
  {
    name: 'Fedify 2.3.6',
    note: 'the contender of the ActivityPub case',
    entry: new URL('../activitypub/fedify.ts', import.meta.url),
    setup: { fediversePort: 9, origin: 'https://agents.test' },
  },
  {
    name: 'SDK 1.3.0 on Express',
    note: 'the contender of the A2A case',
    entry: new URL('../a2a/sdk.ts', import.meta.url),
    setup: { answer: 'task' },
  },
  {
    name: 'mailauth + mailparser',
    note: 'the contender of the mail case',
    entry: new URL('../mail/libraries.ts', import.meta.url),
    setup: { dns: ['127.0.0.1:9'] },
  },
  {
    name: 'floor: Hono + SQLite',
    note: 'the floor of the A2A case',
    entry: new URL('../a2a/floor.ts', import.meta.url),
    setup: {},
    ...rows.start,
  },
]

const productionConfig = {
  origin: `https://${gatewayHost}`,
  listen: { port: 0 },
  operator_token: 'bench-operator-token',
  agents: { echo: { use: 'builtin:echo' } },
}
const devConfig = { dev: true, listen: { port: 0 }, email: { listen: { port: 0 } } }

const configs = { start: productionConfig, dev: devConfig }

/** Lists our own starters first, then peers; or only our own and those of an earlier commit, which has no built package. */
export function listStartContenders(earlier: EarlierTree | undefined): readonly StartContender[] {
  if (!earlier) buildProgram()
  const posternPrograms = earlier ? pairWithEarlierCommit(programs, earlier) : [...packaged, ...programs]
  const posternStarters = posternPrograms.map(program => ({ ...program, start: () => startPostern(program) }))
  return earlier
    ? posternStarters
    : [...posternStarters, ...rivals.map(peer => ({ ...peer, start: () => startRival(peer) }))]
}

/** Starts a program, waits until it reports that it listens, and ends it. */
async function startPostern({ entry, command }: ProgramContender): Promise<StartMeasurement> {
  using workingDir = mkdtempDisposableSync(join(tmpdir(), 'postern-bench-'))
  writeFileSync(join(workingDir.path, 'postern.config.json'), JSON.stringify(configs[command]))
  const startedAt = performance.now()
  const environment = { NODE_COMPILE_CACHE: compileCache }
  const child = spawnProgram(entry, [command], { cwd: workingDir.path, environment })
  const exited = once(child, 'exit')
  try {
    await readPort(child.stdout)
    return { startMs: performance.now() - startedAt, ...readProcessUsage(child.pid ?? 0) }
  } finally {
    child.kill()
    await exited
  }
}

async function startRival({ entry, setup }: Pick<Contender, 'entry' | 'setup'>): Promise<StartMeasurement> {
  const server = await startServer({ entry, setup, core: undefined, environment: { NODE_COMPILE_CACHE: compileCache } })
  const usage = readProcessUsage(server.pid)
  await server.stop()
  return { startMs: server.startMs, ...usage }
}

/** The measurements of a start. CPU time and memory are those at the moment of the ready message. */
export interface StartMeasurement extends Usage {
  /** The time from spawn to the ready message, ms. */
  readonly startMs: number
}
