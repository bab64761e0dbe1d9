import { refuseAnswer } from './refusals.ts'

const maxEvent = 4 * 1024 * 1024

/**
 * The data of each event of an event stream (WHATWG HTML §9.2.6), without comments and other fields. @throws Undeliverable when one event
 * is too large or the stream is not UTF-8
 */
export async function* readSseEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  let data: string[] = []
  let size = 0
  for await (const line of readLines(body)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n')
      data = []
      size = 0
      continue
    }
    const value = readData(line)
    if (value === undefined) continue
    size += value.length
    if (size > maxEvent) throw refuseAnswer('an event is too large')
    data.push(value)
  }
}

function readData(line: string): string | undefined {
  if (line === 'data') return ''
  return line.startsWith('data:') ? line.slice(line.startsWith('data: ') ? 6 : 5) : undefined
}

/** Lines end with CR LF, LF or CR; a CR at the end of a piece may be half of a CR LF. */
async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest: string[] = []
  let held = 0
  let endedByCr = false
  for await (const bytes of body) {
    let text = decode(decoder, bytes)
    if (text === '') continue
    if (endedByCr && text.startsWith('\n')) text = text.slice(1)
    endedByCr = text.endsWith('\r')
    const [first = '', ...lines] = text.split(/\r\n|\n|\r/)
    rest.push(first)
    held += first.length
    if (held > maxEvent) throw refuseAnswer('an event is too large')
    if (lines.length === 0) continue
    yield rest.join('')
    const last = lines.pop() ?? ''
    yield* lines
    rest = [last]
    held = last.length
  }
}

function decode(decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true })
  } catch (cause) {
    throw refuseAnswer('it is not UTF-8', cause)
  }
}
