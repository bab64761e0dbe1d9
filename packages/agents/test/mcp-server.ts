import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '@postern/testing/free-port'

/** The official server that has one of everything. */
export const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

/** How a gateway starts it. */
export const everythingCommand = { command: process.execPath, args: [everything, 'stdio'] }

/** The same over Streamable HTTP, on a port that can be given. */
export async function openEverything(port?: number) {
  const place = port ?? (await findFreePort())
  const child = spawn(process.execPath, [everything, 'streamableHttp'], {
    env: { ...process.env, PORT: String(place) },
  })
  let printed = ''
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the MCP server ended: ${printed}`)))
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', chunk => {
        printed += String(chunk)
        if (/listening on port/i.test(printed)) resolve()
      })
    }
  })
  return {
    port: place,
    url: `http://127.0.0.1:${place}/mcp`,
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
