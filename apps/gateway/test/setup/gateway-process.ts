// Runs a gateway as a process that tests can kill.
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../bin/postern.mjs', import.meta.url))

/** A gateway (`postern start`) in its own process, which can be killed. */
export interface GatewayProcess {
  /** Starts the process, and resolves once it listens. */
  start(): Promise<void>
  /** Kills the process with SIGKILL, so that it cannot clean up. */
  kill(): Promise<void>
  stop(): Promise<number | null>
  /** Pauses the process with SIGSTOP: it lives, but does nothing. */
  pause(): void
  resume(): void
  /** Resolves once the process has ended by itself, with its exit code and all that it printed. */
  waitForExit(): Promise<{ readonly code: number | null; readonly output: string }>
}

interface ProcessOptions {
  /** The URL of a module that the process loads first; absent for none. */
  readonly preload?: string
  /** The command and its arguments. Default: `start`. */
  readonly command?: readonly string[]
}

export function createGatewayProcess(
  configPath: string,
  { preload, command = ['start'] }: ProcessOptions = {},
): GatewayProcess {
  const args = [...(preload === undefined ? [] : ['--import', preload]), program, ...command, '--config', configPath]
  let child: ChildProcess | undefined
  let output = ''
  const stopProcess = async (signal: NodeJS.Signals): Promise<number | null> => {
    const ending = child
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return ending?.exitCode ?? null
    const exited = once(ending, 'exit')
    ending.kill(signal)
    await exited
    return ending.exitCode
  }
  return {
    async start() {
      child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
      output = ''
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => (output += String(chunk)))
      await untilListening(child)
    },
    kill: async () => void (await stopProcess('SIGKILL')),
    stop: () => stopProcess('SIGTERM'),
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    async waitForExit() {
      if (child && child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      return { code: child?.exitCode ?? null, output: output }
    },
  }
}

/** Resolves once a gateway prints that it listens; its output must be piped. */
export function untilListening(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = ''
    const collectOutput = (chunk: Buffer) => {
      output += chunk.toString()
      if (output.includes('listens on')) resolve()
    }
    child.stdout?.on('data', collectOutput)
    child.stderr?.on('data', collectOutput)
    child.once('exit', code => reject(new Error(`the gateway ended with ${code}: ${output}`)))
  })
}
