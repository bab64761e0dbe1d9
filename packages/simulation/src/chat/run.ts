// Starts a run of the chat as a browser does (AG-UI 1.0), and reads its events.
import { randomUUID } from 'node:crypto'
import type { SimA2a } from '../a2a/a2a.ts'
import { applyToUrl, encodeRequest, jsonFaults } from '../a2a/json-fault.ts'
import type { Fault, TokenOnlyFault } from '../fault.ts'
import type { LoopbackFetch } from '../net/loopback-fetch.ts'
import type { SentContent } from '../sent-part.ts'
import { renderRunContent } from '../sent-part.ts'

interface ChatRun extends SentContent {
  /** The address that starts runs, such as `https://agents.test/api/v1/agents/echo/runs`. */
  readonly url: string
  /** The conversation. Absent for a new one. */
  readonly threadId?: string | undefined
  /** The subject of the token. Default: `alice`. */
  readonly sub?: string | undefined
  readonly fault?: Fault | TokenOnlyFault | undefined
  /** Stops reading the answer. The run continues. */
  readonly signal?: AbortSignal | undefined
}

interface ChatStart {
  /** The id of the message that the run sent. */
  readonly messageId: string
  readonly threadId: string
  readonly answer: Response
}

interface ChatRunDeps {
  readonly a2a: Pick<SimA2a, 'token'>
  readonly loopback: LoopbackFetch
}

/** Posts one run. For the fault `replayed`, the second answer counts. */
export async function startChat(run: ChatRun, { a2a, loopback }: ChatRunDeps): Promise<ChatStart> {
  const fault = run.fault ? jsonFaults[run.fault] : {}
  const { sub = 'alice', threadId = randomUUID(), signal } = run
  const token = fault.omitsToken
    ? undefined
    : await a2a.token({ sub, audience: `${new URL(run.url).origin}/api/v1`, fault: fault.tokenFault })
  const [runId, messageId] = [randomUUID(), randomUUID()]
  const post = (content: ReturnType<typeof renderRunContent>) =>
    loopback.fetch(applyToUrl(run.url, fault), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: encodeRequest({ threadId, runId, messages: [{ id: messageId, role: 'user', content }] }, fault),
      ...(signal && { signal }),
    })
  const firstAnswer = await post(renderRunContent(run))
  if (!fault.repeatText) return { messageId, threadId, answer: firstAnswer }
  await firstAnswer.body?.cancel()
  return { messageId, threadId, answer: await post(fault.repeatText) }
}

/** An AG-UI event, with the members that the end and the text of a run need. */
export interface RunEvent {
  readonly type: string
  readonly messageId?: string
  readonly delta?: string
  readonly message?: string
}

/** Reads the events of a run as they arrive. */
export async function* readChatEvents(body: Response['body']): AsyncGenerator<RunEvent> {
  const decoder = new TextDecoder()
  let pendingText = ''
  for await (const chunk of body ?? []) {
    const blocks = (pendingText + decoder.decode(chunk, { stream: true })).split('\n\n')
    pendingText = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = block.match(/^data: ?(.*)$/m)?.[1]
      if (data !== undefined) yield JSON.parse(data) as RunEvent
    }
  }
}

/** Joins the chunks of each message of the answer. Each message becomes a paragraph. */
export function joinChatText(events: readonly RunEvent[]): string {
  const texts = new Map<string, string>()
  for (const { type, messageId = '', delta = '' } of events) {
    if (/^TEXT_MESSAGE_(CONTENT|CHUNK)$/.test(type)) texts.set(messageId, (texts.get(messageId) ?? '') + delta)
  }
  return [...texts.values()].join('\n\n')
}
