// Watches the folder of a project for changes of its files.
import { relative, resolve, sep } from 'node:path'
import type { Log } from '@postern/message'
import { watch } from 'chokidar'

interface WatchOptions {
  /** Folder of the configuration file, where the modules of agents are. */
  readonly folder: string
  /** The data folder, which is not watched because the gateway itself writes there. */
  readonly dataFolder: string
  readonly log: Log
}

/** The time for which the watch waits for further changes, ms, because editors write a file in several steps. */
const settleMs = 100

/**
 * Calls `onChange` with the absolute paths of changed files. Calls do not overlap. Many editors and `git checkout` write a new file and
 * rename it over the old one; chokidar continues to watch the name.
 * @returns a function that ends the watch
 */
export function watchFiles(
  { folder, dataFolder: data, log }: WatchOptions,
  onChange: (paths: ReadonlySet<string>) => Promise<void>,
): () => void {
  let timer: NodeJS.Timeout | undefined
  let changedPaths = new Set<string>()
  let pendingCall = Promise.resolve()
  const notify = () => {
    const paths = changedPaths
    changedPaths = new Set()
    pendingCall = pendingCall.then(() => onChange(paths))
  }
  const watcher = watch(folder, {
    ignoreInitial: true,
    ignored: path => isIgnored(relative(folder, path), relative(folder, data)),
  })
  watcher.on('all', (_, path) => {
    changedPaths.add(resolve(folder, path))
    clearTimeout(timer)
    timer = setTimeout(notify, settleMs)
  })
  watcher.on('error', error => log.warn({ err: error }, 'the gateway no longer notices changes of files'))
  return () => {
    clearTimeout(timer)
    void watcher.close()
  }
}

function isIgnored(path: string, dataFolder: string): boolean {
  const isData = dataFolder !== '' && (path === dataFolder || path.startsWith(`${dataFolder}${sep}`))
  return isData || /(?:^|[/\\])(?:node_modules|\.git)(?:[/\\]|$)/.test(path)
}
