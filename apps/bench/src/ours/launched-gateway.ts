import { once } from 'node:events'
import { mkdtempDisposableSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildProgram, readMemoryField, readPort, spawnProgram } from '../servers/program.ts'

const report = new URL('./memory-report.mjs', import.meta.url).href

const operatorToken = 'bench-operator-token'

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

/** `postern start` of the npm package, as an operator runs it, with SQLite on disk. */
export interface LaunchedGateway extends AsyncDisposable {
  readonly port: number
  readResident(): Resident
  readMemory(): Promise<MemoryReport>
  /** Messages that are not under way any more. */
  countHandled(): Promise<number>
}

/** @throws Error with its last words when it ends before it listens */
export async function launchGateway(tree: object): Promise<LaunchedGateway> {
  const { path: directory, remove } = mkdtempDisposableSync(join(tmpdir(), 'postern-bench-'))
  writeFileSync(join(directory, 'postern.config.json'), JSON.stringify({ ...tree, data: directory }))
  const told = join(directory, 'memory.json')
  const environment = {
    NODE_OPTIONS: `--import ${report}`,
    POSTERN_OPERATOR_TOKEN: operatorToken,
    BENCH_MEMORY_REPORT: told,
  }
  const child = spawnProgram(buildProgram(), ['start'], { cwd: directory, environment })
  const { pid = 0, stdout } = child
  const port = await readPort(stdout)
  return {
    port,
    readResident: () => ({ now: readMemoryField(pid, 'VmRSS'), peak: readMemoryField(pid, 'VmHWM') }),
    async readMemory() {
      rmSync(told, { force: true })
      child.kill('SIGUSR2')
      return readTold(told)
    },
    async countHandled() {
      const headers = { authorization: `Bearer ${operatorToken}` }
      const answer = await fetch(`http://127.0.0.1:${port}/operator/api/status`, { headers })
      const { messages } = (await answer.json()) as { readonly messages: Readonly<Record<string, number>> }
      const { answered = 0, failed = 0, ignored = 0 } = messages
      return answered + failed + ignored
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

/** Not at all when there is no time left. */
export function rest(ms: number): Promise<void> | undefined {
  return ms > 0 ? new Promise(resolve => setTimeout(resolve, ms)) : undefined
}
