import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

interface LaunchPlan {
  readonly args: readonly string[]
  readonly workingDir: string
  readonly environment: Readonly<Record<string, string>>
  /** Standard output that says it listens. */
  readonly sign: RegExp
}

export interface Launched {
  /** From spawn to the sign, ms. */
  readonly startMs: number
  /** Bytes at that moment. */
  readonly rss: number
}

/** Starts a program as a person would, waits until it says that it listens, and ends it. */
export async function launchProgram({ args, workingDir, environment, sign }: LaunchPlan): Promise<Launched> {
  const begun = performance.now()
  const child = spawn(process.execPath, args, {
    cwd: workingDir,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let output = ''
  try {
    for await (const chunk of child.stdout) {
      output += chunk
      if (sign.test(output)) return { startMs: performance.now() - begun, rss: readResidentBytes(child.pid ?? 0) }
    }
    throw new Error(`the program ended without listening: ${output.slice(-400)}`)
  } finally {
    child.kill()
    await exited
  }
}

/** Linux tells it in `/proc`; elsewhere it stays unknown. */
function readResidentBytes(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
  } catch {
    return Number.NaN
  }
}
