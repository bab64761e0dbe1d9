// Builds the npm package, runs its program, and reads the port that it listens on.
import type { ChildProcessByStdio } from 'node:child_process'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../../../..', import.meta.url))

let isBuilt = false

/** Builds the npm package that users install, at most once per process. @returns the URL of its program */
export function buildProgram(): URL {
  if (!isBuilt) execFileSync(process.execPath, [join(root, 'tools/package/main.ts')], { stdio: 'ignore' })
  isBuilt = true
  return installedProgram
}

export const installedProgram = pathToFileURL(join(root, 'build/package/bin/postern.mjs'))

/** Spawns a program as users and services do, by its shebang line, with this version of Node. */
export function spawnProgram(
  entry: URL,
  args: readonly string[],
  { cwd, environment }: { readonly cwd: string; readonly environment: Readonly<Record<string, string>> },
): ChildProcessByStdio<null, Readable, null> {
  const path = [dirname(process.execPath), process.env.PATH].join(delimiter)
  const env = { ...process.env, PATH: path, NODE_ENV: 'production', ...environment }
  return spawn(fileURLToPath(entry), args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Reads the port from the output of a gateway. @throws Error with the end of the output if the gateway exits before it listens */
export async function readPort(stdout: NodeJS.ReadableStream): Promise<number> {
  let output = ''
  // Later output is read and discarded, because a full pipe would block the gateway.
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
