import { watch } from 'node:fs'
import { relative, resolve, sep } from 'node:path'
import type { Log } from '@postern/core'

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
export function watchFiles(
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
