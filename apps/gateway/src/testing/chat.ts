// Starts runs of the chat like a browser, and reads their answers.
import { parseJsonText } from '@postern/message'
import { renderRunContent } from '@postern/simulation'
import type { ChatEvent, ChatRequest } from './started-gateway.ts'

interface ChatDeps {
  /** The address of the runs, such as `http://127.0.0.1:8787/api/v1/agent/runs`. */
  readonly url: string
  readonly token: string
}

interface ChatRun {
  readonly thread: string
  /** The id of the run’s message. */
  readonly messageId: string
  readonly text: string
  readonly events: readonly ChatEvent[]
}

/** Starts a run and reads it to its end. @throws Error if the gateway refuses it */
export async function readChatRun(
  { text = '', parts, thread = crypto.randomUUID() }: Omit<ChatRequest, 'to' | 'from'>,
  { url, token }: ChatDeps,
): Promise<ChatRun> {
  const messageId = crypto.randomUUID()
  const content = renderRunContent({ text, parts })
  const body = {
    threadId: thread,
    runId: crypto.randomUUID(),
    messages: [{ id: messageId, role: 'user', content }],
  }
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const eventStream = await response.text()
  if (!response.ok) throw new Error(`Cannot chat: the gateway answered ${response.status} ${eventStream}`)
  const events = readEvents(eventStream)
  return { thread, messageId, text: readAnswerText(events, messageId), events }
}

/** Returns the text of the answer as a chat shows it at the end. A snapshot replaces what the client has of it. */
function readAnswerText(events: readonly ChatEvent[], messageId: string): string {
  let texts: readonly string[] = []
  for (const { type, delta, messages } of events) {
    if (type === 'TEXT_MESSAGE_CONTENT') texts = [...texts, String(delta)]
    if (type === 'MESSAGES_SNAPSHOT')
      texts = readSnapshotTexts(messages as readonly SnapshotMessage[], messageId) ?? texts
  }
  return texts.join('')
}

interface SnapshotMessage {
  readonly id: string
  readonly role: string
  readonly content?: unknown
}

/** Returns the agent's texts after the run's message, or undefined if the snapshot does not have the message. */
function readSnapshotTexts(messages: readonly SnapshotMessage[], messageId: string): readonly string[] | undefined {
  const index = messages.findIndex(({ id }) => id === messageId)
  if (index < 0) return undefined
  return messages
    .slice(index + 1)
    .flatMap(({ role, content }) => (role === 'assistant' && typeof content === 'string' ? [content] : []))
}

function readEvents(stream: string): readonly ChatEvent[] {
  return [...stream.matchAll(/^data: ?(.*)$/gm)].map(([, json = '']) => parseJsonText(json) as ChatEvent)
}
