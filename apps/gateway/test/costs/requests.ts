// Prepares new requests for each endpoint of a gateway.
import { hash } from 'node:crypto'
import type { Simulation } from '@postern/simulation'
import { gatewayOrigin, testIntakeSecret } from '../setup/gateway.ts'

/** One request that was never made before, ready to be sent. */
export interface PreparedRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export type CostEndpoint = 'activitypub' | 'a2a' | 'email' | 'web'

/** Signs and writes a request to one agent. No request continues a conversation. */
type PrepareRequest = (simulation: Simulation, agent: string, sequenceNumber: number) => Promise<PreparedRequest>

export const chatToken = 'chat-token-of-the-tests'
export const chatTokenHash = hash('sha256', chatToken)

const author = 'alice@mastodon.test'
const question = 'When does the last train back from the coast leave on Sunday, and does it take bicycles?'
const publicCollection = 'https://www.w3.org/ns/activitystreams#Public'

export const requestPreparers: Readonly<Record<CostEndpoint, PrepareRequest>> = {
  async activitypub(simulation, agent, sequenceNumber) {
    const path = `/agents/${agent}/inbox`
    const body = Buffer.from(JSON.stringify(createNoteActivity(simulation, agent, sequenceNumber)))
    const url = gatewayOrigin + path
    return { path, body, headers: await simulation.fediverse.sign({ method: 'POST', url, body }, author) }
  },
  async a2a(simulation, agent, sequenceNumber) {
    const message = { messageId: `message-${sequenceNumber}`, role: 'ROLE_USER', parts: [{ text: question }] }
    const rpcRequest = { jsonrpc: '2.0', id: sequenceNumber, method: 'SendMessage', params: { message } }
    const path = `/agents/${agent}/a2a`
    const token = await simulation.a2a.token()
    const headers = { 'a2a-version': '1.0', authorization: `Bearer ${token}` }
    return { path, ...encodeJsonRequest(rpcRequest, headers) }
  },
  async email(simulation, agent, sequenceNumber) {
    const subject = `Last train (${sequenceNumber})`
    const mail = { to: `${agent}@agents.test`, subject, text: question, html: `<p>${question}</p>` }
    const { octets, envelope, ip, helo } = await simulation.mail.compose(mail)
    const query = new URLSearchParams({ from: envelope.from, to: mail.to, ip, helo })
    const headers = { 'content-type': 'message/rfc822', authorization: `Bearer ${testIntakeSecret}` }
    return { path: `/email/inbound?${query}`, headers, body: octets }
  },
  async web(_, agent, sequenceNumber) {
    const messages = [{ id: `message-${sequenceNumber}`, role: 'user', content: question }]
    const runInput = { threadId: `thread-${sequenceNumber}`, runId: `run-${sequenceNumber}`, messages }
    return {
      path: `/api/v1/agents/${agent}/runs`,
      ...encodeJsonRequest(runInput, { authorization: `Bearer ${chatToken}` }),
    }
  },
}

function encodeJsonRequest(
  value: unknown,
  headers: PreparedRequest['headers'],
): Pick<PreparedRequest, 'headers' | 'body'> {
  return { headers: { ...headers, 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) }
}

function createNoteActivity({ fediverse }: Simulation, agent: string, sequenceNumber: number): object {
  const actor = fediverse.actors.get(author)
  if (!actor) throw new Error(`nobody is called ${author}`)
  const id = `${actor.id}/statuses/${sequenceNumber}`
  const href = `${gatewayOrigin}/agents/${agent}`
  const sharedFields = { to: [publicCollection], cc: [href], published: new Date().toISOString() }
  const content = `<p><a href="${href}" class="u-url mention">@${agent}@agents.test</a> ${question}</p>`
  const tag = [{ type: 'Mention', href, name: `@${agent}@agents.test` }]
  const object = { id, type: 'Note', attributedTo: actor.id, content, tag, ...sharedFields }
  const context = 'https://www.w3.org/ns/activitystreams'
  return { '@context': context, id: `${id}/activity`, type: 'Create', actor: actor.id, object, ...sharedFields }
}
