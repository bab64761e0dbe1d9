// Ends the programs that a process has started, however that process ends. An import of this module is enough.
import { ChildProcess, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

// A process that a signal ends runs no handlers of its own, and its children continue. They hold files, ports and the output of the test
// run. A small program therefore knows their ids, and ends them when its standard input ends.
const watcherScript = `
const alive = new Set()
const end = signal => { for (const id of alive) try { process.kill(id, signal) } catch {} }
let rest = ''
process.stdin.setEncoding('utf8')
process.stdin.on('data', text => {
  const lines = (rest + text).split('\\n')
  rest = lines.pop()
  for (const line of lines) line.startsWith('+') ? alive.add(Number(line.slice(1))) : alive.delete(Number(line.slice(1)))
})
process.stdin.on('end', () => {
  end('SIGTERM')
  if (alive.size > 0) setTimeout(() => end('SIGKILL'), 2_000)
})`

interface StartedProcess {
  pid?: number
  once(event: 'exit', listener: () => void): void
}

type SpawnMethod = (this: StartedProcess, options: { readonly detached?: boolean }) => unknown

/** The prototype whose `spawn()` is called by the functions `spawn()`, `fork()` and `execFile()`. */
const prototype = ChildProcess.prototype as unknown as { spawn: SpawnMethod & { readonly isWatched?: boolean } }

let watcher: Writable | undefined

function report(line: string): void {
  watcher ??= startWatcher()
  watcher.write(`${line}\n`)
}

/** Starts a watcher in its own process group, so that the signal of a terminal does not reach it. */
function startWatcher(): Writable {
  const child = spawn(process.execPath, ['--eval', watcherScript], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.unref()
  child.stdin.on('error', () => undefined)
  ;(child.stdin as unknown as { unref(): void }).unref()
  return child.stdin
}

/** Vitest loads a setup file anew for each test file of a process, so this runs only once. */
if (!prototype.spawn.isWatched) {
  const originalSpawn = prototype.spawn
  let isStartingWatcher = false
  const startWatched: SpawnMethod = function (options) {
    if (isStartingWatcher) return originalSpawn.call(this, options)
    const result = originalSpawn.call(this, options)
    if (this.pid === undefined) return result
    // A detached program leads a group, and its whole group ends.
    const id = options.detached ? -this.pid : this.pid
    isStartingWatcher = true
    report(`+${id}`)
    isStartingWatcher = false
    this.once('exit', () => report(`-${id}`))
    return result
  }
  prototype.spawn = Object.assign(startWatched, { isWatched: true })
  // A worker whose vitest run was killed would otherwise finish its file first.
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
}
