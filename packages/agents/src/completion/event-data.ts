// Reads the data of the events of a stream (server-sent events).

/** The maximum length of one event, characters. */
const maxEventChars = 2 * 1024 * 1024

/**
 * Reads the data of each event of a model's stream (WHATWG HTML §9.2.6), without comments and other fields. @throws Error when one event is
 * too large
 */
export async function* readEventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  let dataLines: string[] = []
  for await (const line of readEventLines(body)) {
    const value = readField(line)
    if (value !== undefined) dataLines.push(value)
    if (line !== '' || dataLines.length === 0) continue
    yield dataLines.join('\n')
    dataLines = []
  }
  // llama.cpp does not send the empty line that terminates the last event.
  if (dataLines.length > 0) yield dataLines.join('\n')
}

function readField(line: string): string | undefined {
  const [, name, value = ''] = /^(data|error)(?:: ?(.*))?$/s.exec(line) ?? []
  // llama.cpp reported failures in a separate field until September 2025 (ggml-org/llama.cpp#16109).
  return name === 'error' ? `{"error":${value}}` : name && value
}

/** Yields complete lines, which end with CR LF, LF or CR. */
async function* readEventLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder()
  let pendingText = ''
  for await (const bytes of body) {
    const text = decoder.decode(bytes, { stream: true })
    pendingText += text
    if (pendingText.length > maxEventChars)
      throw new Error('Cannot read the answer of the model: an event is too large')
    if (!/[\r\n]/.test(text)) continue
    // A CR at the end may be the first half of a CR LF.
    const end = pendingText.endsWith('\r') ? pendingText.length - 1 : pendingText.length
    const lines = pendingText.slice(0, end).split(/\r\n|\n|\r/)
    pendingText = `${lines.pop() ?? ''}${pendingText.slice(end)}`
    yield* lines
  }
  if (pendingText.endsWith('\r')) yield pendingText.slice(0, -1)
}
