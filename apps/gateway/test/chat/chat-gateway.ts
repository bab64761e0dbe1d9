// Opens a gateway for people who chat and also write by mail and from the fediverse.
import { hash } from 'node:crypto'
import type { BaseEvent, Message } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import { PROTOCOL_VERSION } from '@ag-ui/core'
import { openPeopleGateway } from '../setup/people-gateway.ts'
import { uniqueName, withoutWarnings } from '../setup/web-gateway.ts'

export type PersonName = 'ann' | 'bob'

export interface Thread {
  readonly threadId: string
  readonly via: string
  readonly beginning: string
  readonly begun_at: string
  readonly last_at: string
  readonly shared?: true
}

export interface HistoryMessage {
  readonly id: string
  readonly seq: number
  readonly role: string
  readonly content: string
  readonly metadata: Record<string, unknown>
}

export interface ChatReply {
  readonly events: readonly BaseEvent[]
  readonly text: string
  readonly client: HttpAgent
}

interface ChatOptions {
  readonly threadId?: string
  readonly as?: PersonName
  readonly agent?: string
  readonly client?: HttpAgent | undefined
}

const tokenOf = (person: PersonName) => `token-of-${person}-for-the-tests`

export type PeopleChatGateway = Awaited<ReturnType<typeof openPeopleChatGateway>>

/** Opens the gateway. */
export async function openPeopleChatGateway(overrides: Record<string, unknown> = {}) {
  const tokens = (['ann', 'bob'] as const).map(person => ({ name: person, sha256: hash('sha256', tokenOf(person)) }))
  const issuer = 'https://issuer.test'
  const issuers = [{ issuer, audience: 'chat', jwks: `${issuer}/.well-known/jwks.json` }]
  const web = { enabled: true, auth: { tokens, issuers } }
  const people = await openPeopleGateway({ default_agent: 'desk', web, ...overrides })

  function requestAs(
    path: string,
    { as = 'ann' as PersonName, ...init }: RequestInit & { as?: PersonName } = {},
  ): Promise<Response> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${tokenOf(as)}` }
    return fetch(`${people.gateway.url()}${path}`, { ...init, headers })
  }

  const base = (agent: string) => `/api/v1/agents/${agent}`

  /** Sends a text in a chat with the real client, which rejects a stream that breaks a rule of AG-UI. */
  async function chat(
    text: string,
    { threadId, as = 'ann', agent = 'desk', client: existingClient }: ChatOptions = {},
  ): Promise<ChatReply> {
    const url = `${people.gateway.url()}${base(agent)}/runs`
    const headers = { authorization: `Bearer ${tokenOf(as)}` }
    const client = existingClient ?? new HttpAgent({ url, headers, threadId: threadId ?? uniqueName('thread') })
    client.addMessage({ id: uniqueName('msg'), role: 'user', content: text })
    const events: BaseEvent[] = []
    await withoutWarnings(() =>
      client.runAgent(
        { runId: uniqueName('run') },
        {
          onEvent: ({ event }) => void events.push(event),
          onRunFailed: ({ error }) => void events.push({ type: 'failed', error } as never),
        },
      ),
    )
    return { events, text: textOf(client.messages.at(-1)), client }
  }

  return {
    ...people,
    requestAs: requestAs,
    chat,
    async threads(as: PersonName = 'ann', agent = 'desk'): Promise<readonly Thread[]> {
      const response = await requestAs(`${base(agent)}/threads`, { as })
      return ((await response.json()) as { threads: readonly Thread[] }).threads
    },
    history: (threadId: string, as: PersonName = 'ann', agent = 'desk') =>
      requestAs(`${base(agent)}/history?threadId=${encodeURIComponent(threadId)}`, { as }),
    async read(threadId: string, as: PersonName = 'ann', agent = 'desk'): Promise<readonly HistoryMessage[]> {
      const response = await this.history(threadId, as, agent)
      return ((await response.json()) as { messages: readonly HistoryMessage[] }).messages
    },
    postRun(body: object, as: PersonName = 'ann', agent = 'desk') {
      return requestAs(`${base(agent)}/runs`, {
        as,
        method: 'POST',
        body: JSON.stringify({ protocolVersion: PROTOCOL_VERSION, ...body }),
      })
    },
    /** Links a person who chats with an account on the fediverse. */
    async linkAccount(account: string, { as = 'ann' as PersonName, agent = 'desk' } = {}): Promise<ChatReply> {
      const [user, host] = account.split('@')
      const actor = `https://${host}/users/${user}`
      const countBefore = await this.countCodes(actor)
      const { client } = await chat(`link acct:${account}`, { as, agent })
      return chat(`confirm ${await people.postedCode(actor, countBefore + 1)}`, { as, agent, client })
    },
    async linkMailbox(address: string, { as = 'ann' as PersonName, agent = 'desk' } = {}): Promise<ChatReply> {
      const countBefore = people.codesTo(address)
      const { client } = await chat(`link ${address}`, { as, agent })
      return chat(`confirm ${await people.mailedCode(address, countBefore + 1)}`, { as, agent, client })
    },
    countCodes: async (actor: string) =>
      people.gateway.simulation.fediverse.received.filter(({ activity }) => {
        const note = activity.object as { content?: string; to?: string[] } | undefined
        return note?.to?.includes(actor) && /[2-9A-HJ-NP-Z]{5}-[2-9A-HJ-NP-Z]{5}/.test(note.content ?? '')
      }).length,
  }
}

function textOf(message: Message | undefined): string {
  return typeof message?.content === 'string' ? message.content : ''
}
