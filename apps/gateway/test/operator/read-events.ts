// Reads the event stream of the operator API.
export interface OperatorEvent {
  readonly kind: string
  readonly id: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface EventReader {
  /** Returns the next event that matches, and skips those before it. @throws Error when none arrives */
  next(fits?: (event: OperatorEvent) => boolean): Promise<OperatorEvent>
  /** All events so far. */
  readonly receivedEvents: readonly OperatorEvent[]
  close(): void
}

const patienceMs = 60_000

/** Follows the operator's events of a gateway. @throws Error when it does not answer with a stream */
export async function openEvents(
  url: string,
  { token, query = '', lastId }: { readonly token: string; readonly query?: string; readonly lastId?: string },
): Promise<EventReader> {
  const closing = new AbortController()
  const headers = { authorization: `Bearer ${token}`, ...(lastId !== undefined && { 'last-event-id': lastId }) }
  const response = await fetch(`${url}/operator/api/events${query}`, { headers, signal: closing.signal })
  if (!response.ok || !response.body) throw new Error(`events: ${response.status} ${await response.text()}`)
  // The iterator is created at once, because a fetch cancels the body of an answer that nobody references or reads.
  const events = readEvents(response.body.values())
  const seenEvents: OperatorEvent[] = []
  return {
    receivedEvents: seenEvents,
    async next(fits = () => true) {
      for (;;) {
        const { value, done } = await withPatience(events.next())
        if (done) throw new Error('the stream has ended')
        seenEvents.push(value)
        if (fits(value)) return value
      }
    },
    close: () => closing.abort(),
  }
}

async function withPatience<Value>(promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no event came within ${patienceMs} ms`)), patienceMs)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<OperatorEvent, undefined> {
  const decoder = new TextDecoder()
  let buffered = ''
  for await (const chunk of body) {
    const blocks = (buffered + decoder.decode(chunk, { stream: true })).split('\n\n')
    buffered = blocks.pop() ?? ''
    for (const block of blocks) {
      const [, kind, id, data] = /^event: (\S+)\nid: (\S+)\ndata: (.*)$/.exec(block) ?? []
      if (kind !== undefined && id !== undefined) yield { kind, id, data: JSON.parse(data ?? '') }
    }
  }
  return undefined
}
