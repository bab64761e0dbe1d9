// Applies changes of the configuration and of agents' modules while a gateway runs.
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { listOperatorModules, reloadAllModules } from '@postern/agents'
import { channelModules } from '../channels.ts'
import type { AnyChannelModule } from '../config/channel-slices.ts'
import type { Config } from '../config/schema.ts'
import type { Gateway } from '../gateway.ts'
import { readAt, setAt } from '../tree/config-tree.ts'
import { watchFiles } from './watch-files.ts'

interface ReloadDeps {
  readonly gateway: Pick<Gateway, 'reloadAgents' | 'system'>
  /** Folder of the configuration file. */
  readonly folder: string
  /** The configuration at the start of the gateway. */
  readonly initialConfig: Config
  /** Reads the files again, and adds dev mode’s values. @throws ConfigError, AggregateError of them */
  readConfig(): Promise<Config>
  /** Applies a configuration. Changes nothing if it fails. @throws ConfigError, AggregateError of ConfigErrors */
  reload(config: Config): Promise<void>
}

interface ReloadState extends ReloadDeps {
  runningConfig: Config
  /** The last configuration that was tried. */
  attemptedConfig: Config
  /** The settings that the log has already reported as waiting for a restart. */
  waitingSettings: readonly string[]
}

/**
 * Applies each change of the configuration, of an agent's modules, or of a file that the configuration names. A faulty change changes nothing,
 * and the log names the fault. @returns a function that ends the watch
 */
export function reloadOnChange(deps: ReloadDeps): () => void {
  const { gateway, folder, initialConfig } = deps
  const state: ReloadState = {
    ...deps,
    runningConfig: initialConfig,
    attemptedConfig: initialConfig,
    waitingSettings: [],
  }
  const { log } = gateway.system
  return watchFiles({ folder, dataFolder: resolve(folder, initialConfig.data), log }, paths => reload(paths, state))
}

async function reload(paths: ReadonlySet<string>, state: ReloadState): Promise<void> {
  const { gateway, folder } = state
  const { log } = gateway.system
  const otherPaths = [...paths].filter(path => !isModule(path, folder))
  const isModuleChanged = otherPaths.length < paths.size
  if (isModuleChanged) reloadAllModules()
  let subject = 'configuration cannot be reloaded; the former one stays in use'
  try {
    const { config, waitingSettings: waiting } = restoreFixedSettings(await state.readConfig(), state.runningConfig)
    reportWaitingSettings(waiting, state)
    const referencedFiles = new Set(listReferencedFiles(config, folder))
    const isReferencedFileChanged = otherPaths.some(path => referencedFiles.has(path))
    // A failed configuration is tried again only when a module or a value changes, because agents may write files themselves.
    const isUntried = isModuleChanged || !isDeepStrictEqual(config, state.attemptedConfig)
    if (isReferencedFileChanged || (isUntried && !isDeepStrictEqual(config, state.runningConfig))) {
      state.attemptedConfig = config
      await state.reload(config)
      const changedSettings = listChangedSettings(config, state.runningConfig)
      state.runningConfig = config
      log.info({ changed: changedSettings }, 'configuration reloaded')
    } else if (isModuleChanged) {
      subject = 'agents cannot be reloaded; the former ones stay in use'
      await gateway.reloadAgents()
      log.info({}, 'agents reloaded')
    }
  } catch (error) {
    log.error({ reason: describeFault(error) }, subject)
  }
}

/** Reports settings that wait for a restart, each of them once. */
function reportWaitingSettings(waitingSettings: readonly string[], state: ReloadState): void {
  const newWaiting = waitingSettings.filter(name => !state.waitingSettings.includes(name))
  state.waitingSettings = waitingSettings
  if (newWaiting.length === 0) return
  const fix = 'Restart postern dev to apply them.'
  state.gateway.system.log.warn({ settings: newWaiting, fix }, 'these settings cannot change while the gateway runs')
}

function isModule(path: string, folder: string): boolean {
  const isSource = /\.[cm]?[jt]s$/.test(path) && !/(?:^|[/\\])\./.test(relative(folder, path))
  return isSource || listOperatorModules().some(url => fileURLToPath(url) === path)
}

/** Lists the files that texts of the configuration may name, such as pictures, keys and instructions. */
function listReferencedFiles(tree: unknown, folder: string): readonly string[] {
  if (typeof tree === 'string') return tree.length > 0 && tree.length < 1_000 ? [resolve(folder, tree)] : []
  if (typeof tree !== 'object' || tree === null) return []
  return Object.values(tree).flatMap(value => listReferencedFiles(value, folder))
}

function listChangedSettings(config: Config, runningConfig: Config): readonly string[] {
  const [newSettings, oldSettings] = [config, runningConfig] as unknown as Readonly<Record<string, unknown>>[]
  const names = Object.keys({ ...newSettings, ...oldSettings })
  return names.filter(name => !isDeepStrictEqual(newSettings?.[name], oldSettings?.[name]))
}

function describeFault(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describeFault).join(' ')
  return error instanceof Error ? error.message : String(error)
}

/** Settings that stay fixed while the gateway runs: its address, its store and its operator’s token. */
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
  readonly waitingSettings: readonly string[]
}

/** Returns a new configuration without the changes that need a restart. */
function restoreFixedSettings(changedConfig: Config, runningConfig: Config): FixedConfig {
  let config: unknown = changedConfig
  const waiting = fixedSettings.filter(name => {
    const path = name.split('.')
    const [changedValue, runningValue] = [readAt(changedConfig, path), readAt(runningConfig, path)]
    if (isDeepStrictEqual(changedValue, runningValue)) return false
    config = setAt(config, path, runningValue)
    return true
  })
  return { config: config as Config, waitingSettings: waiting }
}
