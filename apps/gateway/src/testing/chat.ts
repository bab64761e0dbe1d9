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
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const stream = await answer.text()
  if (!answer.ok) throw new Error(`Cannot chat: the gateway answered ${answer.status} ${stream}`)
  const events = readEvents(stream)
  const texts = events.flatMap(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? [String(delta)] : []))
  return { thread, messageId, text: texts.join(''), events }
}

function readEvents(stream: string): readonly ChatEvent[] {
  return [...stream.matchAll(/^data: ?(.*)$/gm)].map(([, json = '']) => parseJsonText(json) as ChatEvent)
}
