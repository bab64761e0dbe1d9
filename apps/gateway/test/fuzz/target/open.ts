// Starts a server under attack, and watches its process.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** The addresses that a server reports once it listens. */
export interface TargetAddresses {
  readonly http: number
  readonly smtp?: number | undefined
  readonly isLmtp?: boolean | undefined
  readonly grpc?: number | undefined
  readonly routes: readonly TargetRoute[]
}

interface TargetRoute {
  readonly method: string
  /** The path in the router's notation, such as `/agents/:agent/inbox`. */
  readonly path: string
}

/** A server in its own process. */
export interface FuzzTarget extends TargetAddresses {
  /** Calls `tell` when the server ends, and for every log line that names a bug. */
  onTrouble(tell: (text: string) => void): void
  hasEnded(): boolean
  /** Returns the processor time of its main thread, ms; undefined where the system does not report it. */
  mainThreadMs(): number | undefined
  stop(): Promise<void>
}

/** The number of pino's level `error`. */
const errorLevel = 50

/** Starts the script and waits until it reports by IPC where it listens. @throws Error when it ends before that */
export async function openTarget(script: string, args: readonly string[]): Promise<FuzzTarget> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  const troubleListeners: ((text: string) => void)[] = []
  const reportedTexts: string[] = []
  const reportTrouble = (text: string) => {
    reportedTexts.push(text)
    for (const listener of troubleListeners) listener(text)
  }
  readLines(child, reportTrouble)
  let isStopping = false
  child.once('exit', (code, signal) => {
    if (!isStopping) reportTrouble(`the process ended: ${signal ?? code}`)
  })
  const addresses = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => undefined)])
  if (!addresses) throw new Error(`the server did not start:\n${reportedTexts.join('\n')}`)
  return {
    ...(addresses[0] as TargetAddresses),
    onTrouble: listener => void troubleListeners.push(listener),
    hasEnded: () => hasEnded(child),
    mainThreadMs: () => readThreadMs(child.pid),
    async stop() {
      isStopping = true
      if (hasEnded(child)) return
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** Returns `utime` and `stime` of Linux (proc(5)), which are in hundredths of a second. The main thread has the number of its process. */
function readThreadMs(pid: number | undefined): number | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return 10 * (Number(fields[11]) + Number(fields[12]))
  } catch {
    return undefined
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

function readLines({ stdout, stderr }: ChildProcess, tell: (text: string) => void): void {
  if (!stdout || !stderr) return
  createInterface(stderr).on('line', line => line && tell(`it wrote: ${line}`))
  createInterface(stdout).on('line', line => {
    const bug = readBug(line)
    if (bug) tell(bug)
  })
}

/** Returns a line of the log about a bug, with the file and line that it comes from. */
function readBug(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined
  const { level, msg, err } = JSON.parse(line) as { level?: number; msg?: string; err?: { stack?: string } }
  if ((level ?? 0) < errorLevel) return undefined
  return `it logged: ${msg}\n${err?.stack ?? ''}`.trim()
}
