import { parseJsonText } from '@postern/core'

interface ChatDeps {
  /** Where runs are started, such as `http://127.0.0.1:8787/api/v1/agent/runs`. */
  readonly url: string
  readonly token: string
}

/** One run of the chat, as a browser starts it. */
export interface ChatRequest {
  readonly text: string
  /** Name of the agent; default: the default agent. */
  readonly to?: string | undefined
  /** Conversation; default: a new one. */
  readonly thread?: string | undefined
}

export interface ChatResult {
  readonly thread: string
  /** What the agent said. */
  readonly text: string
  /** Every event of the run, in order. */
  readonly events: readonly ChatEvent[]
}

/** An AG-UI event. */
export interface ChatEvent {
  readonly type: string
  readonly [member: string]: unknown
}

/** Starts a run and reads it to its end. @throws Error when the gateway refuses it */
export async function readChatRun(
  { text, thread = crypto.randomUUID() }: Omit<ChatRequest, 'to'>,
  { url, token }: ChatDeps,
): Promise<ChatResult> {
  const body = {
    threadId: thread,
    runId: crypto.randomUUID(),
    messages: [{ id: crypto.randomUUID(), role: 'user', content: text }],
  }
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const stream = await answer.text()
  if (!answer.ok) throw new Error(`Cannot chat: the gateway answered ${answer.status} ${stream}`)
  const events = readEvents(stream)
  const said = events.flatMap(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? [String(delta)] : []))
  return { thread, text: said.join(''), events }
}

function readEvents(stream: string): readonly ChatEvent[] {
  return [...stream.matchAll(/^data: ?(.*)$/gm)].map(([, json = '']) => parseJsonText(json) as ChatEvent)
}
