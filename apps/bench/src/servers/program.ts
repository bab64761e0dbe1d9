import type { ChildProcessByStdio } from 'node:child_process'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../../../..', import.meta.url))

let isBuilt = false

/** Builds the npm package, once: the program that users have. @returns where it is then */
export function buildProgram(): URL {
  if (!isBuilt) execFileSync(process.execPath, [join(root, 'tools/package/main.ts')], { stdio: 'ignore' })
  isBuilt = true
  return installedProgram
}

export const installedProgram = pathToFileURL(join(root, 'build/package/bin/postern.mjs'))

/** Runs a program as a person and a service do: by its own first line, with this Node. */
export function spawnProgram(
  entry: URL,
  args: readonly string[],
  { cwd, environment }: { readonly cwd: string; readonly environment: Readonly<Record<string, string>> },
): ChildProcessByStdio<null, Readable, null> {
  const path = [dirname(process.execPath), process.env.PATH].join(delimiter)
  const env = { ...process.env, PATH: path, NODE_ENV: 'production', ...environment }
  return spawn(fileURLToPath(entry), args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
}

/** The port that a gateway says it listens on. @throws Error with its last words when it ends before it listens */
export async function readPort(stdout: NodeJS.ReadableStream): Promise<number> {
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

/** Bytes that Linux tells of a process in `/proc`: `VmRSS`, `VmHWM`. @throws Error where there is no such file */
export function readMemoryField(pid: number, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) * 1024
}
