// Sums the CPU time of V8's profiles by function and by package.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface ProfileNode {
  readonly id: number
  readonly children?: readonly number[]
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
}

interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
  /** The start in µs of the machine's monotonic clock, which `process.hrtime` reads. */
  readonly startTime: number
}

/** The self time of one function or one module. */
interface SelfTime {
  readonly name: string
  /** The share of the time that was not idle, 0–1. */
  readonly share: number
}

export interface ProfileSummary {
  readonly functions: readonly SelfTime[]
  readonly modules: readonly SelfTime[]
  /** Our own functions with everything they call. An `await` ends a call: the code after it counts for the function alone. */
  readonly inclusive: readonly SelfTime[]
}

/** The window of a profile that counts, µs of the monotonic clock. */
export interface ProfileWindow {
  readonly from: number
  readonly to: number
}

/** Adds up every `.cpuprofile` of a directory (one for each thread) within the window. */
export function summarizeProfiles(directory: string, window: ProfileWindow, maxRows: number): ProfileSummary {
  const functions = new Map<string, number>()
  const modules = new Map<string, number>()
  const inclusive = new Map<string, number>()
  for (const name of readdirSync(directory).filter(file => file.endsWith('.cpuprofile'))) {
    const profile = JSON.parse(readFileSync(join(directory, name), 'utf8')) as CpuProfile
    const findOwnCallers = createCallerFinder(profile)
    for (const [node, micros] of selfTimes(profile, window)) {
      addTime(functions, describeFunction(node), micros)
      addTime(modules, describeModule(node), micros)
      for (const caller of findOwnCallers(node)) addTime(inclusive, caller, micros)
    }
  }
  const total = [...functions.values()].reduce((sum, micros) => sum + micros, 0)
  return {
    functions: rankTimes(functions, total, maxRows),
    modules: rankTimes(modules, total, maxRows),
    inclusive: rankTimes(inclusive, total, maxRows),
  }
}

function* selfTimes(profile: CpuProfile, { from, to }: ProfileWindow): Generator<[ProfileNode, number]> {
  const nodes = new Map(profile.nodes.map(node => [node.id, node]))
  let sampleTime = profile.startTime
  for (const [index, id] of profile.samples.entries()) {
    sampleTime += profile.timeDeltas[index] ?? 0
    const node = nodes.get(id)
    const durationMicros = profile.timeDeltas[index + 1] ?? 0
    if (node && sampleTime >= from && sampleTime <= to && node.callFrame.functionName !== '(idle)')
      yield [node, durationMicros]
  }
}

function addTime(times: Map<string, number>, name: string, micros: number): void {
  times.set(name, (times.get(name) ?? 0) + micros)
}

/** Creates a function that lists our own functions on the way down to a node, including the node itself, each once however deep it recurses. */
function createCallerFinder({ nodes }: CpuProfile): (node: ProfileNode) => ReadonlySet<string> {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map(child => [child, id])))
  return node => {
    const callers = new Set<string>()
    for (let current: ProfileNode | undefined = node; current; current = byId.get(parents.get(current.id) ?? -1)) {
      if (/^(packages|apps)\//.test(shortenPath(current.callFrame.url))) callers.add(describeFunction(current))
    }
    return callers
  }
}

function rankTimes(times: ReadonlyMap<string, number>, total: number, maxRows: number): SelfTime[] {
  return [...times]
    .map(([name, micros]) => ({ name, share: micros / total }))
    .toSorted((a, b) => b.share - a.share)
    .slice(0, maxRows)
}

function describeFunction({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const file = shortenPath(url)
  return `${functionName || '(anonymous)'}${file ? `  ${file}:${lineNumber + 1}` : ''}`
}

/** Names the module of a node: `packages/store`, `node_modules/hono`, `node:internal/http`, `(garbage collector)` … */
function describeModule({ callFrame: { functionName, url } }: ProfileNode): string {
  if (!url) return functionName.startsWith('(') ? functionName : 'native'
  const parts = shortenPath(url).split('/')
  if (parts[0]?.startsWith('node:')) return parts.slice(0, 2).join('/')
  return parts.slice(0, parts[1]?.startsWith('@') ? 3 : 2).join('/')
}

function shortenPath(url: string): string {
  return url.replace(/^.*\/(?=(packages|apps|node_modules)\/)/, '')
}
