import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startServer } from '../servers/process.ts'
import { measureRound } from './measure.ts'
import { formatColumns } from './report.ts'
import type { BenchCase, Contender } from './rounds.ts'

interface ProfileNode {
  readonly id: number
  readonly children?: readonly number[]
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
}

interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
  /** µs of the machine's monotonic clock, the one `process.hrtime` reads. */
  readonly startTime: number
}

/** Self time of one function, or of one room. */
interface SelfTime {
  readonly what: string
  /** Share of the time that was not idle, 0–1. */
  readonly share: number
}

interface ProfileSummary {
  readonly functions: readonly SelfTime[]
  readonly deps: readonly SelfTime[]
  /** Our own functions with all they call. An `await` ends a call: what follows it counts for the function alone. */
  readonly inclusive: readonly SelfTime[]
}

/** Which part of a profile counts, µs of the monotonic clock. */
export interface Window {
  readonly from: number
  readonly to: number
}

function monotonicMicros(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** Adds up every `.cpuprofile` of a directory (one for each thread) within the window. */
export function summarizeProfiles(directory: string, window: Window, top: number): ProfileSummary {
  const functions = new Map<string, number>()
  const deps = new Map<string, number>()
  const inclusive = new Map<string, number>()
  for (const name of readdirSync(directory).filter(file => file.endsWith('.cpuprofile'))) {
    const profile = JSON.parse(readFileSync(join(directory, name), 'utf8')) as CpuProfile
    const findOwnCallers = createCallerFinder(profile)
    for (const [node, micros] of selfTimes(profile, window)) {
      addTime(functions, describeFunction(node), micros)
      addTime(deps, describeRoom(node), micros)
      for (const caller of findOwnCallers(node)) addTime(inclusive, caller, micros)
    }
  }
  const total = [...functions.values()].reduce((sum, micros) => sum + micros, 0)
  return {
    functions: rankTimes(functions, total, top),
    deps: rankTimes(deps, total, top),
    inclusive: rankTimes(inclusive, total, top),
  }
}

function* selfTimes(profile: CpuProfile, { from, to }: Window): Generator<[ProfileNode, number]> {
  const nodes = new Map(profile.nodes.map(node => [node.id, node]))
  let at = profile.startTime
  for (const [index, id] of profile.samples.entries()) {
    at += profile.timeDeltas[index] ?? 0
    const node = nodes.get(id)
    const lasted = profile.timeDeltas[index + 1] ?? 0
    if (node && at >= from && at <= to && node.callFrame.functionName !== '(idle)') yield [node, lasted]
  }
}

function addTime(times: Map<string, number>, what: string, micros: number): void {
  times.set(what, (times.get(what) ?? 0) + micros)
}

/** Every function of ours on the way down to a node, itself included, each once however deep it recurses. */
function createCallerFinder({ nodes }: CpuProfile): (node: ProfileNode) => ReadonlySet<string> {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map(child => [child, id])))
  return node => {
    const callers = new Set<string>()
    for (let at: ProfileNode | undefined = node; at; at = byId.get(parents.get(at.id) ?? -1)) {
      if (/^(packages|apps)\//.test(shortenPath(at.callFrame.url))) callers.add(describeFunction(at))
    }
    return callers
  }
}

function rankTimes(times: ReadonlyMap<string, number>, total: number, top: number): SelfTime[] {
  return [...times]
    .map(([what, micros]) => ({ what, share: micros / total }))
    .toSorted((a, b) => b.share - a.share)
    .slice(0, top)
}

function describeFunction({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const file = shortenPath(url)
  return `${functionName || '(anonymous)'}${file ? `  ${file}:${lineNumber + 1}` : ''}`
}

/** `packages/store`, `node_modules/hono`, `node:internal/http`, `(garbage collector)` … */
function describeRoom({ callFrame: { functionName, url } }: ProfileNode): string {
  if (!url) return functionName.startsWith('(') ? functionName : 'native'
  const parts = shortenPath(url).split('/')
  if (parts[0]?.startsWith('node:')) return parts.slice(0, 2).join('/')
  return parts.slice(0, parts[1]?.startsWith('@') ? 3 : 2).join('/')
}

function shortenPath(url: string): string {
  return url.replace(/^.*\/(?=(packages|apps|node_modules)\/)/, '')
}

const warmUpCount = 4_000
const top = 25

/**
 * Runs one contender under V8's CPU profiler; only the loaded, warm stretch counts. Time is wall time: a commit that waits
 * for the disk shows as busy.
 */
export async function profileContender(
  benchCase: BenchCase,
  contender: Contender,
  { directory, seconds }: { readonly directory: string; readonly seconds: number },
): Promise<ProfileSummary> {
  const own = join(directory, `${benchCase.name} ${contender.name}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'))
  mkdirSync(own, { recursive: true })
  const nodeFlags = [...(contender.nodeFlags ?? []), '--cpu-prof', `--cpu-prof-dir=${own}`, '--cpu-prof-interval=500']
  // Not kept to one core: the profiler counts a thread that waits for its turn as busy.
  await using server = await startServer({ ...contender, core: undefined, nodeFlags })
  const load = async (count: number) => ({
    ...benchCase,
    port: server.port,
    requests: await benchCase.prepare(count, contender.variant),
  })
  const { perSecond } = await measureRound({ server, load: await load(warmUpCount), seconds })
  const measured = await load(Math.ceil(perSecond * seconds * 1.5))
  const from = monotonicMicros()
  await measureRound({ server, load: measured, seconds })
  const to = monotonicMicros()
  await server.stop()
  return summarizeProfiles(own, { from, to }, top)
}

export function formatProfile(title: string, { functions, deps, inclusive }: ProfileSummary): string {
  const format = (times: ProfileSummary['deps']) =>
    formatColumns(times.map(({ what, share }) => [`${(share * 100).toFixed(1)} %`.padStart(7), what]))
  return [
    `${title}: self time by room`,
    format(deps),
    `\n${title}: self time by function`,
    format(functions),
    `\n${title}: our functions with all they call`,
    format(inclusive),
  ].join('\n')
}
