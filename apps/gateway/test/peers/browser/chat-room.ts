// Starts the example connector, a chat room for browsers.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { waitUntil } from '../eventually.ts'
import { ourHost, ports } from '../names.ts'

const example = new URL('../../../../connector-example/', import.meta.url)
const pathOf = (name: string) => fileURLToPath(new URL(name, example))

export interface ChatRoom {
  /** The address for a browser. It bypasses our TLS terminator, which would not pass streams on. */
  readonly url: string
  log(): string
  stop(): Promise<void>
}

/** Reads the settings by which a gateway trusts the example, from the example's own configuration. */
export function readTrust(): Readonly<Record<'identity' | 'a2a', unknown>> {
  const { identity, a2a } = JSON.parse(readFileSync(pathOf('gateway.config.json'), 'utf8')) as Record<string, unknown>
  return { identity, a2a }
}

export const clerk = { name: 'Clerk', description: 'Asks before it acts', use: pathOf('agents/clerk.ts') }

/** Starts the example connector as its README describes, and waits until it listens. */
export async function startChatRoom(directory: string): Promise<ChatRoom> {
  const flags = ['--dev', '--loopback', `${ourHost}=${ports.gateway}`, '--agents-domain', ourHost, '--credentials']
  const ownFlags = ['--port', String(ports.chat), '--keys', join(directory, 'chat', 'keys.json')]
  const child = spawn(process.execPath, [pathOf('bin/chat-room.mjs'), ...flags, ...ownFlags])
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      log += chunk.toString()
    })
  }
  await waitUntil('the chat room listens', () => {
    if (child.exitCode !== null) throw new Error(`the chat room ended: ${log}`)
    return log.includes('speaks for') || undefined
  })
  return {
    url: `http://127.0.0.1:${ports.chat}`,
    log: () => log,
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}
