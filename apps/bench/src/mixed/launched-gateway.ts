import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposableSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../../gateway/bin/postern.mjs', import.meta.url))
const report = new URL('./memory-report.mjs', import.meta.url).href

/** What a process and its threads hold, bytes. */
export interface MemoryReport {
  readonly heapUsed: number
  readonly heapTotal: number
  readonly external: number
  readonly arrayBuffers: number
  /** Of each thread beside the main one: its heap as V8 has committed it, and what of it is in use. */
  readonly threads: readonly { readonly committed: number; readonly used: number }[]
}

/** Bytes. */
export interface Resident {
  readonly now: number
  /** The most there ever was. */
  readonly peak: number
}

/** `postern start` as an operator runs it: the launcher, the flags of its first line, SQLite on disk. */
export interface LaunchedGateway extends AsyncDisposable {
  readonly port: number
  readResident(): Resident
  readMemory(): Promise<MemoryReport>
}

/** @throws Error with its last words when it ends before it listens */
export async function launchGateway(tree: object): Promise<LaunchedGateway> {
  const { path: directory, remove } = mkdtempDisposableSync(join(tmpdir(), 'postern-bench-'))
  const config = join(directory, 'postern.config.json')
  writeFileSync(config, JSON.stringify({ ...tree, data: directory }))
  const told = join(directory, 'memory.json')
  const args = ['--max-semi-space-size=8', '--import', report, program, 'start', '--config', config]
  const child = spawn(process.execPath, args, {
    env: {
      ...process.env,
      NODE_ENV: 'production',
      POSTERN_OPERATOR_TOKEN: 'bench-operator-token',
      BENCH_MEMORY_REPORT: told,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { pid = 0, stdout } = child
  const port = await readPort(stdout as NodeJS.ReadableStream)
  return {
    port,
    readResident: () => readResident(pid),
    async readMemory() {
      rmSync(told, { force: true })
      child.kill('SIGUSR2')
      return readTold(told)
    },
    async [Symbol.asyncDispose]() {
      child.kill()
      await once(child, 'exit')
      remove()
    },
  }
}

async function readTold(file: string): Promise<MemoryReport> {
  while (true) {
    try {
      return JSON.parse(readFileSync(file, 'utf8'))
    } catch {
      await rest(50)
    }
  }
}

async function readPort(stdout: NodeJS.ReadableStream): Promise<number> {
  let output = ''
  // What comes after that is read and thrown away: a full pipe would hold the gateway up.
  stdout.on('data', chunk => (output = output.length > 10_000 ? output : output + chunk))
  while (true) {
    const port = /listens on https?:\/\/[^\s"]*:(\d+)/.exec(output)?.[1]
    if (port) return Number(port)
    await Promise.race([once(stdout, 'data'), once(stdout, 'end').then(() => refuse(output))])
  }
}

function refuse(output: string): never {
  throw new Error(`the program ended without listening: ${output.slice(-400)}`)
}

function readResident(pid: number): Resident {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) * 1024
  return { now: read('VmRSS'), peak: read('VmHWM') }
}

/** Not at all when there is no time left. */
export function rest(ms: number): Promise<void> | undefined {
  return ms > 0 ? new Promise(resolve => setTimeout(resolve, ms)) : undefined
}
