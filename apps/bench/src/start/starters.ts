import { once } from 'node:events'
import { mkdtempDisposableSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pairWithEarlier } from '../earlier/rivals.ts'
import type { EarlierTree } from '../harness/earlier-tree.ts'
import type { Contender } from '../harness/rounds.ts'
import { gatewayHost } from '../ours/open.ts'
import { startServer } from '../servers/process.ts'
import { buildProgram, installedProgram, readMemoryField, readPort, spawnProgram } from '../servers/program.ts'

/** Something that can be started until it listens. */
interface Starter {
  readonly name: string
  readonly note: string
  /** By its name, the one it is compared with; default: the first. */
  readonly against?: string
  start(): Promise<Launched>
}

const postern = new URL('../../../gateway/bin/postern.mjs', import.meta.url)
/** Compiled code kept between starts, for everybody alike. */
const compileCache = join(tmpdir(), 'postern-bench-compile-cache')

interface ProgramStarter extends Pick<Starter, 'name' | 'note'> {
  /** The program. */
  readonly entry: URL
  readonly command: 'start' | 'dev'
  readonly needs?: readonly URL[]
}

const packaged: readonly ProgramStarter[] = [
  {
    name: 'postern start',
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

const programs: readonly ProgramStarter[] = [
  { name: 'start from sources', note: 'a clone of the project', entry: postern, command: 'start' },
  { name: 'dev from sources', note: 'the same with the simulation', entry: postern, command: 'dev' },
]

const peers: readonly Pick<Contender, 'name' | 'note' | 'entry' | 'setup'>[] = [
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

/** Ours first; beside peers, or beside an earlier commit alone, which has no package that is built. */
export function listStarters(earlier: EarlierTree | undefined): readonly Starter[] {
  if (!earlier) buildProgram()
  const ours = earlier ? pairWithEarlier(programs, earlier) : [...packaged, ...programs]
  const own = ours.map(program => ({ ...program, start: () => startPostern(program) }))
  return earlier ? own : [...own, ...peers.map(peer => ({ ...peer, start: () => startPeer(peer) }))]
}

/** Waits until it says that it listens, and ends it. */
async function startPostern({ entry, command }: ProgramStarter): Promise<Launched> {
  using workingDir = mkdtempDisposableSync(join(tmpdir(), 'postern-bench-'))
  writeFileSync(join(workingDir.path, 'postern.config.json'), JSON.stringify(configs[command]))
  const begun = performance.now()
  const environment = { NODE_COMPILE_CACHE: compileCache }
  const child = spawnProgram(entry, [command], { cwd: workingDir.path, environment })
  const exited = once(child, 'exit')
  try {
    await readPort(child.stdout)
    return { startMs: performance.now() - begun, ...readProcess(child.pid ?? 0) }
  } finally {
    child.kill()
    await exited
  }
}

async function startPeer({ entry, setup }: Pick<Contender, 'entry' | 'setup'>): Promise<Launched> {
  const server = await startServer({ entry, setup, core: undefined, environment: { NODE_COMPILE_CACHE: compileCache } })
  const taken = readProcess(server.pid)
  await server.stop()
  return { startMs: server.startMs, ...taken }
}

export interface Launched {
  /** From spawn to the sign, ms. */
  readonly startMs: number
  /** CPU time of all its threads until then, ms; not a number where the system does not tell it. */
  readonly cpuMs: number
  /** Bytes at that moment. */
  readonly rss: number
}

/** Linux tells it in `/proc`; elsewhere it stays unknown. A process that was begun anew keeps the time that it took before. */
function readProcess(pid: number): Pick<Launched, 'cpuMs' | 'rss'> {
  try {
    const spent = readdirSync(`/proc/${pid}/task`).map(thread =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
    )
    return { cpuMs: spent.reduce((sum, each) => sum + each, 0) / 1e6, rss: readMemoryField(pid, 'VmRSS') }
  } catch {
    return { cpuMs: Number.NaN, rss: Number.NaN }
  }
}
