/** Characters of one event at most. */
const maxEvent = 2 * 1024 * 1024

/**
 * The data of each event of a model's stream (WHATWG HTML §9.2.6), without comments and other fields. @throws Error when one event is too
 * large
 */
export async function* readEventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  let held: string[] = []
  for await (const line of readEventLines(body)) {
    const value = readField(line)
    if (value !== undefined) held.push(value)
    if (line !== '' || held.length === 0) continue
    yield held.join('\n')
    held = []
  }
  // llama.cpp ends its stream without the empty line that ends an event.
  if (held.length > 0) yield held.join('\n')
}

function readField(line: string): string | undefined {
  const [, name, value = ''] = /^(data|error)(?:: ?(.*))?$/s.exec(line) ?? []
  // llama.cpp named a failure in a field of its own until September 2025 (ggml-org/llama.cpp#16109).
  return name === 'error' ? `{"error":${value}}` : name && value
}

/** Complete lines, ended by CR LF, LF or CR. */
async function* readEventLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of body) {
    const text = decoder.decode(bytes, { stream: true })
    rest += text
    if (rest.length > maxEvent) throw new Error('Cannot read the answer of the model: an event is too large')
    if (!/[\r\n]/.test(text)) continue
    // A CR at the end may be half of a CR LF.
    const end = rest.endsWith('\r') ? rest.length - 1 : rest.length
    const lines = rest.slice(0, end).split(/\r\n|\n|\r/)
    rest = `${lines.pop() ?? ''}${rest.slice(end)}`
    yield* lines
  }
  if (rest.endsWith('\r')) yield rest.slice(0, -1)
}
