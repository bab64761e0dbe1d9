import { watch } from 'node:fs'
import { relative } from 'node:path'
import { renewOperatorModules } from '@postern/agents'
import type { Gateway } from '../gateway.ts'

interface ReloadOptions {
  /** Folder of the configuration file, where the modules of agents are. */
  readonly folder: string
  /** Folder of the data: what changes there are the gateway's own writes. */
  readonly data: string
}

/** Editors write a file in several steps. */
const settleMs = 100

/** Opens the agents anew whenever one of their modules changes. A broken one leaves all as they are, and the log says where it is broken. @returns what ends it */
export function reloadOnChange(
  { reloadAgents, platform: { log } }: Pick<Gateway, 'reloadAgents' | 'platform'>,
  { folder, data }: ReloadOptions,
): () => void {
  let timer: NodeJS.Timeout | undefined
  let reloading = Promise.resolve()
  const reload = async () => {
    renewOperatorModules()
    try {
      await reloadAgents()
      log.info({}, 'agents reloaded')
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      log.error({ reason }, 'agents cannot be reloaded; the former ones go on')
    }
  }
  const watcher = watch(folder, { recursive: true }, (_, path) => {
    if (path === null || !isModule(path) || path.startsWith(relative(folder, data))) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      reloading = reloading.then(reload)
    }, settleMs)
  })
  // A folder that cannot be watched any more is no reason to end.
  watcher.on('error', error => log.warn({ err: error }, 'changes of modules are not seen any more'))
  return () => {
    clearTimeout(timer)
    watcher.close()
  }
}

function isModule(path: string): boolean {
  return /\.[cm]?[jt]s$/.test(path) && !/(?:^|[/\\])(?:node_modules[/\\]|\.)/.test(path)
}
