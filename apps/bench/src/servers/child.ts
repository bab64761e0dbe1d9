// Runs the current process as a measured server that reports its CPU time and memory.
import type { FromServer, ToServer } from './process.ts'
import { setupVariable } from './process.ts'

/** A server under measurement, as its own process sees it. */
interface OpenServer {
  readonly port: number
  /** Returns the number of messages that have been fully handled so far. */
  handled(): number | Promise<number>
  /** Runs a command of the bench while it serves, and resolves when the command is done. */
  work?(order: unknown): Promise<unknown>
  close?(): Promise<void> | void
}

/** Runs this process as a measured server: opens it, reports its port, and reports CPU time and memory on request. */
export async function serveMeasured<Setup>(open: (setup: Setup) => Promise<OpenServer>): Promise<void> {
  try {
    const server = await open(JSON.parse(process.env[setupVariable] ?? '{}') as Setup)
    process.on('message', (message: ToServer) => {
      void handleCommand(message, server).catch(reportFailure)
    })
    process.on('disconnect', () => process.exit(1))
    sendToParent({ kind: 'ready', port: server.port })
  } catch (error) {
    reportFailure(error)
  }
}

async function handleCommand(message: ToServer, server: OpenServer): Promise<void> {
  if (message.kind === 'stop') return stopServer(server)
  if (message.kind === 'work') return sendToParent({ kind: 'worked', result: await server.work?.(message.order) })
  const handled = await server.handled()
  sendToParent({ kind: 'sample', ...readUsage(), handled })
}

function reportFailure(error: unknown): void {
  sendToParent({ kind: 'failed', error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}

// A profile is written when the process exits by itself, so it must not be killed.
async function stopServer({ close }: OpenServer): Promise<void> {
  await close?.()
  process.exit(0)
}

function readUsage(): { cpu: number; rss: number } {
  const { user, system } = process.cpuUsage()
  return { cpu: user + system, rss: process.memoryUsage.rss() }
}

function sendToParent(message: FromServer): void {
  process.send?.(message)
}
