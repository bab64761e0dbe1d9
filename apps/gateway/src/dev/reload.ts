import { watch } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { listOperatorModules, renewOperatorModules } from '@postern/agents'
import type { Log } from '@postern/core'
import { channelModules } from '../channels.ts'
import type { AnyChannelModule } from '../config/channel-slices.ts'
import { readAt, writeAt } from '../config/environment.ts'
import type { Config } from '../config/schema.ts'
import type { Gateway } from '../gateway.ts'

interface ReloadDeps {
  readonly gateway: Pick<Gateway, 'reloadAgents' | 'platform'>
  /** Folder of the configuration file. */
  readonly folder: string
  /** The configuration that it goes by. */
  readonly given: Config
  /** The configuration as the files have it now, with what dev mode adds. @throws ConfigError, AggregateError of them */
  readConfig(): Promise<Config>
  /** Goes on with another one. @throws ConfigError, AggregateError of them; then all stays as it is */
  reload(config: Config): Promise<void>
}

interface Reloading extends ReloadDeps {
  running: Config
  /** The last one that was to be applied. */
  tried: Config
  /** Settings of which was said that they wait for a restart. */
  waiting: readonly string[]
}

/**
 * Applies each change of the configuration, of an agent's modules, or of a file that the configuration names, while all else goes on. What is
 * wrong changes nothing, and the log says where it is wrong. @returns what ends it
 */
export function reloadOnChange(deps: ReloadDeps): () => void {
  const { gateway, folder, given } = deps
  const reloading: Reloading = { ...deps, running: given, tried: given, waiting: [] }
  const { log } = gateway.platform
  return watchFiles({ folder, data: resolve(folder, given.data), log }, paths => reload(paths, reloading))
}

async function reload(paths: ReadonlySet<string>, reloading: Reloading): Promise<void> {
  const { gateway, folder } = reloading
  const { log } = gateway.platform
  const others = [...paths].filter(path => !isModule(path, folder))
  const isModuleChanged = others.length < paths.size
  if (isModuleChanged) renewOperatorModules()
  let subject = 'configuration cannot be reloaded; the former one goes on'
  try {
    const { config, waiting } = keepFixedSettings(await reloading.readConfig(), reloading.running)
    tellWaiting(waiting, reloading)
    const named = new Set(listFiles(config, folder))
    const isNamed = others.some(path => named.has(path))
    // One that failed is not tried again until something changes that it may need. Its agents may write files themselves.
    const mayDiffer = isModuleChanged || !isDeepStrictEqual(config, reloading.tried)
    if (isNamed || (mayDiffer && !isDeepStrictEqual(config, reloading.running))) {
      reloading.tried = config
      await reloading.reload(config)
      const changed = listChanged(config, reloading.running)
      reloading.running = config
      log.info({ changed }, 'configuration reloaded')
    } else if (isModuleChanged) {
      subject = 'agents cannot be reloaded; the former ones go on'
      await gateway.reloadAgents()
      log.info({}, 'agents reloaded')
    }
  } catch (error) {
    log.error({ reason: describeFault(error) }, subject)
  }
}

/** Once for each setting, and not again with every change. */
function tellWaiting(waiting: readonly string[], reloading: Reloading): void {
  const news = waiting.filter(name => !reloading.waiting.includes(name))
  reloading.waiting = waiting
  if (news.length === 0) return
  const fix = 'Restart postern dev to apply them.'
  reloading.gateway.platform.log.warn({ settings: news, fix }, 'these settings cannot change while the gateway runs')
}

function isModule(path: string, folder: string): boolean {
  const isSource = /\.[cm]?[jt]s$/.test(path) && !/(?:^|[/\\])\./.test(relative(folder, path))
  return isSource || listOperatorModules().some(url => fileURLToPath(url) === path)
}

/** The files that texts of the configuration may mean: pictures, keys, instructions. */
function listFiles(tree: unknown, folder: string): readonly string[] {
  if (typeof tree === 'string') return tree.length > 0 && tree.length < 1_000 ? [resolve(folder, tree)] : []
  if (typeof tree !== 'object' || tree === null) return []
  return Object.values(tree).flatMap(value => listFiles(value, folder))
}

function listChanged(config: Config, running: Config): readonly string[] {
  const [now, before] = [config, running] as unknown as Readonly<Record<string, unknown>>[]
  const names = Object.keys({ ...now, ...before })
  return names.filter(name => !isDeepStrictEqual(now?.[name], before?.[name]))
}

function describeFault(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describeFault).join(' ')
  return error instanceof Error ? error.message : String(error)
}

/** Settings that hold as long as the gateway runs: where it is, where it keeps what, and who operates it. */
const fixedSettings: readonly string[] = [
  ...['origin', 'handle_host', 'listen', 'data', 'store', 'operator_token', 'dev', 'log'],
  ...channelModules.flatMap(({ descriptor, fixedMembers = [] }: AnyChannelModule) =>
    fixedMembers.map(member => `${descriptor.name}.${member}`),
  ),
]

interface FixedConfig {
  /** The new configuration with the running one's fixed settings. */
  readonly config: Config
  /** Names of settings that a restart would change. */
  readonly waiting: readonly string[]
}

/** What of a new configuration can be applied to a gateway that runs. */
function keepFixedSettings(changed: Config, running: Config): FixedConfig {
  let config: unknown = changed
  const waiting = fixedSettings.filter(name => {
    const path = name.split('.')
    const [wanted, kept] = [readAt(changed, path), readAt(running, path)]
    if (isDeepStrictEqual(wanted, kept)) return false
    config = writeAt(config, path, kept)
    return true
  })
  return { config: config as Config, waiting }
}

interface WatchOptions {
  /** Folder of the configuration file, where the modules of agents are. */
  readonly folder: string
  /** Folder of the data: what changes there are the gateway's own writes. */
  readonly data: string
  readonly log: Log
}

/** Editors write a file in several steps. */
const settleMs = 100

/**
 * Calls `onChange` with the files that changed, by their whole paths, and never twice at a time. @returns what ends it
 */
function watchFiles(
  { folder, data, log }: WatchOptions,
  onChange: (paths: ReadonlySet<string>) => Promise<void>,
): () => void {
  let timer: NodeJS.Timeout | undefined
  let changed = new Set<string>()
  let working = Promise.resolve()
  const tell = () => {
    const paths = changed
    changed = new Set()
    working = working.then(() => onChange(paths))
  }
  const watcher = watch(folder, { recursive: true }, (_, path) => {
    if (path === null || isForeign(path, relative(folder, data))) return
    changed.add(resolve(folder, path))
    clearTimeout(timer)
    timer = setTimeout(tell, settleMs)
  })
  // A folder that cannot be watched any more is no reason to end.
  watcher.on('error', error => log.warn({ err: error }, 'changes of files are not seen any more'))
  return () => {
    clearTimeout(timer)
    watcher.close()
  }
}

function isForeign(path: string, data: string): boolean {
  const isData = data !== '' && (path === data || path.startsWith(`${data}${sep}`))
  return isData || /(?:^|[/\\])(?:node_modules|\.git)(?:[/\\]|$)/.test(path)
}
