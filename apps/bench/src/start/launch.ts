import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'

interface LaunchPlan {
  /** Run by its own first line, as a person and a service do. */
  readonly program: string
  readonly args: readonly string[]
  readonly workingDir: string
  readonly environment: Readonly<Record<string, string>>
  /** Standard output that says it listens. */
  readonly sign: RegExp
}

export interface Launched {
  /** From spawn to the sign, ms. */
  readonly startMs: number
  /** CPU time of all its threads until then, ms; not a number where the system does not tell it. */
  readonly cpuMs: number
  /** Bytes at that moment. */
  readonly rss: number
}

/** Starts a program as a person would, waits until it says that it listens, and ends it. */
export async function launchProgram({ program, args, workingDir, environment, sign }: LaunchPlan): Promise<Launched> {
  const begun = performance.now()
  const path = [dirname(process.execPath), process.env.PATH].join(delimiter)
  const child = spawn(program, args, {
    cwd: workingDir,
    env: { ...process.env, PATH: path, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let output = ''
  try {
    for await (const chunk of child.stdout) {
      output += chunk
      if (!sign.test(output)) continue
      return { startMs: performance.now() - begun, ...readProcess(child.pid ?? 0) }
    }
    throw new Error(`the program ended without listening: ${output.slice(-400)}`)
  } finally {
    child.kill()
    await exited
  }
}

/** Linux tells it in `/proc`; elsewhere it stays unknown. A process that was begun anew keeps the time that it took before. */
export function readProcess(pid: number): Pick<Launched, 'cpuMs' | 'rss'> {
  try {
    const spent = readdirSync(`/proc/${pid}/task`).map(thread =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
    )
    const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return { cpuMs: spent.reduce((sum, each) => sum + each, 0) / 1e6, rss: Number(resident) * 1024 }
  } catch {
    return { cpuMs: Number.NaN, rss: Number.NaN }
  }
}
