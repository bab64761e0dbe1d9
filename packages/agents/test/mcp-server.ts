// Starts the official MCP server that demonstrates every feature.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '@postern/testing/free-port'

export const everythingServerPath = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'),
)

/** The command with which a gateway starts this server. */
export const everythingCommand = { command: process.execPath, args: [everythingServerPath, 'stdio'] }

/** Starts this server with Streamable HTTP, on the given port or a free one. */
export async function startEverythingServer(port?: number) {
  const listenPort = port ?? (await findFreePort())
  const child = spawn(process.execPath, [everythingServerPath, 'streamableHttp'], {
    env: { ...process.env, PORT: String(listenPort) },
  })
  let output = ''
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the MCP server ended: ${output}`)))
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', chunk => {
        output += String(chunk)
        if (/listening on port/i.test(output)) resolve()
      })
    }
  })
  return {
    port: listenPort,
    url: `http://127.0.0.1:${listenPort}/mcp`,
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
