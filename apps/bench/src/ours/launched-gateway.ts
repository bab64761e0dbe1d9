// Launches the built npm package as an operator would, and reads its memory.
import { once } from 'node:events'
import { mkdtempDisposableSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Usage } from '../servers/process-usage.ts'
import { readMemoryField, readProcessUsage } from '../servers/process-usage.ts'
import { buildProgram, readPort, spawnProgram } from '../servers/program.ts'

const reportModule = new URL('./memory-report.mjs', import.meta.url).href

const operatorToken = 'bench-operator-token'

/** The memory of a process and its threads, bytes. */
export interface MemoryReport {
  readonly heapUsed: number
  readonly heapTotal: number
  readonly external: number
  readonly arrayBuffers: number
  /** The committed heap of each thread other than the main one, and the part in use. */
  readonly threads: readonly { readonly committed: number; readonly used: number }[]
}

/** The resident memory of a process, in bytes. */
export interface ResidentMemory {
  readonly now: number
  /** The highest value so far. */
  readonly peak: number
}

/** `postern start` of the npm package, as an operator runs it, with SQLite on disk. */
export interface LaunchedGateway extends AsyncDisposable {
  readonly port: number
  /** The time from spawn to listening, ms. */
  readonly startMs: number
  readResident(): ResidentMemory
  readUsage(): Usage
  readMemory(): Promise<MemoryReport>
  /** Counts the messages that have ended: answered, failed or ignored. */
  countEndedMessages(): Promise<number>
}

/** Starts a gateway and waits until it listens. @throws Error with its last output when it exits before that */
export async function launchGateway(config: object): Promise<LaunchedGateway> {
  const { path: directory, remove } = mkdtempDisposableSync(join(tmpdir(), 'postern-bench-'))
  writeFileSync(join(directory, 'postern.config.json'), JSON.stringify({ ...config, data: directory }))
  const reportPath = join(directory, 'memory.json')
  const environment = {
    NODE_OPTIONS: `--import ${reportModule}`,
    POSTERN_OPERATOR_TOKEN: operatorToken,
    BENCH_MEMORY_REPORT: reportPath,
  }
  const program = buildProgram()
  const startedAt = performance.now()
  const child = spawnProgram(program, ['start'], { cwd: directory, environment })
  const { pid = 0, stdout } = child
  const port = await readPort(stdout)
  const startMs = performance.now() - startedAt
  return {
    port,
    startMs,
    readUsage: () => readProcessUsage(pid),
    readResident: () => ({ now: readMemoryField(pid, 'VmRSS'), peak: readMemoryField(pid, 'VmHWM') }),
    async readMemory() {
      rmSync(reportPath, { force: true })
      child.kill('SIGUSR2')
      return readReport(reportPath)
    },
    async countEndedMessages() {
      const headers = { authorization: `Bearer ${operatorToken}` }
      const response = await fetch(`http://127.0.0.1:${port}/operator/api/status`, { headers })
      const { messages } = (await response.json()) as { readonly messages: Readonly<Record<string, number>> }
      const { answered: answeredCount = 0, failed: failedCount = 0, ignored: ignoredCount = 0 } = messages
      return answeredCount + failedCount + ignoredCount
    },
    async [Symbol.asyncDispose]() {
      child.kill()
      await once(child, 'exit')
      remove()
    },
  }
}

async function readReport(file: string): Promise<MemoryReport> {
  while (true) {
    try {
      return JSON.parse(readFileSync(file, 'utf8'))
    } catch {
      await pauseFor(50)
    }
  }
}

/** Waits `ms` milliseconds; returns undefined at once when no time is left. */
export function pauseFor(ms: number): Promise<void> | undefined {
  return ms > 0 ? new Promise(resolve => setTimeout(resolve, ms)) : undefined
}
