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
  /** Where a browser finds it: behind our TLS terminator no stream would pass. */
  readonly url: string
  log(): string
  stop(): Promise<void>
}

/** What the example's own configuration says a gateway has to trust. */
export function readTrust(): Readonly<Record<'identity' | 'a2a', unknown>> {
  const { identity, a2a } = JSON.parse(readFileSync(pathOf('gateway.config.json'), 'utf8')) as Record<string, unknown>
  return { identity, a2a }
}

export const clerk = { name: 'Clerk', description: 'Asks before it acts', use: pathOf('agents/clerk.ts') }

/** The example connector, started as its README says. */
export async function startChatRoom(directory: string): Promise<ChatRoom> {
  const flags = ['--dev', '--loopback', `${ourHost}=${ports.gateway}`, '--agents-domain', ourHost, '--credentials']
  const place = ['--port', String(ports.chat), '--keys', join(directory, 'chat', 'keys.json')]
  const child = spawn(process.execPath, [pathOf('bin/chat-room.mjs'), ...flags, ...place])
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
