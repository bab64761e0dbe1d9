import { hash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessageSummary } from '@postern/pipeline'
import { afterEach, expect, test } from 'vitest'
import { eventually, gatewayOrigin, operatorToken } from '../setup/gateway.ts'
import type { KilledGateway } from '../setup/killed-gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'

// These tests deliver a mail, a post, a call and a run of the chat once more after everything about them was deleted.

const chatToken = 'token-of-the-chat-for-the-tests'
const address = '@held@agents.test'
let setup: KilledGateway | undefined
let directory = ''
afterEach(async () => {
  await setup?.close()
  rmSync(directory, { recursive: true })
})

async function open() {
  directory = mkdtempSync(join(tmpdir(), 'postern-again-'))
  process.env.HELD_DIRECTORY = directory
  const tokens = [{ name: 'ann', sha256: hash('sha256', chatToken) }]
  const overrides = {
    agents: { held: { use: join(import.meta.dirname, '../agents/waiting/held.ts') } },
    web: { enabled: true, auth: { tokens } },
    // All data expires at once.
    retention: { messages_days: 1e-9, unproven_days: 1e-9 },
  }
  setup = await openKilledGateway({ overrides, directory })
  return setup
}

/** Composes the same deliveries each time, identical to the byte except for the signatures of requests. */
async function compose({ simulation, url }: KilledGateway) {
  const { mail, fediverse, a2a } = simulation
  const composedMail = await mail.compose({ to: 'held@agents.test', text: 'by mail' })
  const deliverPost = () => fediverse.deliver({ to: address, text: 'by post', id: 'note-again', visibility: 'direct' })
  const body = { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'by chat' }] }
  return {
    mail: async () => (await mail.sendSmtp(composedMail)).code,
    post: async () => (await deliverPost()).status,
    call: async () => {
      const signedCall = { url: `${gatewayOrigin}/agents/held/a2a`, text: 'by call', messageId: 'call-again' }
      const { status, body: text } = await a2a.deliver(signedCall)
      return [status, (JSON.parse(text) as { readonly error?: { readonly code: number } }).error?.code]
    },
    chat: async () => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${chatToken}` }
      const response = await fetch(`${url}/api/v1/agents/held/runs`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      return [response.status, /RUN_FINISHED|RUN_ERROR|"code":"[a-z_]*"/.exec(await response.text())?.[0]]
    },
  }
}

async function sendAll(senders: Awaited<ReturnType<typeof compose>>) {
  const { mail, post, call, chat } = senders
  return { mail: await mail(), post: await post(), call: await call(), chat: await chat() }
}

async function operate<Answer>(path: string, body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const init = body ? { method: 'POST', body: JSON.stringify(body) } : {}
  const response = await fetch(`${setup?.url}/operator/api${path}`, { ...init, headers })
  expect(response.ok, `${path} ${response.status}`).toBe(true)
  return (await response.json()) as Answer
}

const messages = async () => (await operate<{ readonly items: readonly MessageSummary[] }>('/messages?limit=50')).items
const listStartedMessages = () => readFileSync(join(directory, 'begun'), 'utf8').trim().split('\n').toSorted()

test.each([
  [
    'the operator has forgotten its sender',
    async () => {
      for (const { sender } of await messages())
        await operate('/people/forget', { address: sender }).catch(() => undefined)
      await operate('/owners/forget', { owner: `web:${JSON.stringify([gatewayOrigin, 'ann'])}` })
    },
  ],
  ['its retention has ended', () => operate('/prune', {})],
])('no repeated message gets another answer after %s', { timeout: 240_000 }, async (_what, remove) => {
  const gateway = await open()
  const senders = await compose(gateway)
  expect(await sendAll(senders)).toEqual({ mail: 250, post: 202, call: [200, undefined], chat: [200, 'RUN_FINISHED'] })
  await eventually(
    async () => (await messages()).every(({ state }) => state === 'answered') && listStartedMessages().length === 4,
  )
  await remove()
  await eventually(async () => (await messages()).length === 0)
  await gateway.gateway.kill()
  await gateway.gateway.start()
  expect(await sendAll(senders)).toEqual({
    mail: 250,
    post: 202,
    call: [200, -32602],
    chat: [409, '"code":"run_repeated"'],
  })
  const { objectId } = await gateway.simulation.fediverse.deliver({
    to: address,
    text: 'the last',
    visibility: 'direct',
  })
  await gateway.simulation.fediverse.awaitReply(objectId, 30_000)
  expect(listStartedMessages()).toEqual(['by call', 'by chat', 'by mail + email', 'by post', 'the last'])
})
