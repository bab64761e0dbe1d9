import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { listOperatorModules, renewOperatorModules } from '@postern/agents'
import type { Config } from '../config/schema.ts'
import type { Gateway } from '../gateway.ts'
import { keepFixedSettings } from './fixed-settings.ts'
import { watchFiles } from './watch-files.ts'

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
    if (isNamed || needsReload(config, { isModuleChanged, reloading })) {
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

interface Attempt {
  readonly isModuleChanged: boolean
  readonly reloading: Reloading
}

/** A configuration that failed is not tried again until something changes that it may need. Its agents may write files themselves. */
function needsReload(config: Config, { isModuleChanged, reloading: { running, tried } }: Attempt): boolean {
  return !isDeepStrictEqual(config, running) && (isModuleChanged || !isDeepStrictEqual(config, tried))
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
